import { explainForms, type FormExplanation, triggersToCount, userIdOf } from '@nextvisit/domain'
import type { Answer } from '../api-routes.ts'
import { createInProject, findProject, NO_CATALOG, NO_PROJECT } from '../catalog/find-project.ts'
import type { Dependencies } from '../dependencies.ts'
import { answered, refuse, serveApi } from '../http/api-route.ts'
import { shortened } from '../forms/shortened.ts'
import { createRequestLimit } from '../http/request-limit.ts'
import { type FormLine, type UserPath, usersApi } from './api.ts'
import type { createUserExport } from './export-user.ts'
import { entriesWithin } from './bounded-entry.ts'
import { ALL_KEPT, findUserOfRequest, NO_LOG } from './find-user-of-request.ts'
import { maskFor, revealedName } from '../http/mask.ts'
import { profileOf } from './profile.ts'
import type { UserLog } from './read-user-log.ts'
import { timelineEntriesOf } from './timeline-entries.ts'
import type { Users } from './users.ts'

interface UserRoutesParts extends Pick<Dependencies, 'catalog' | 'readRefusals' | 'nowMs'> {
  readonly users: Users
  readonly exportUser: ReturnType<typeof createUserExport>['start']
}

const REMOVED_PROJECT = { config: { forms: [] }, notUnderstood: [] }

const TOO_MANY_READS = refuse(
  429,
  'too-many-reads',
  'Other pages are searching the log: two of this session, or many of your role. Try again when one has finished.',
)
/** Each holds some tens of MB, and reads up to 100,000 records. */
const LOG_READINGS = { ofSession: 2, ofRole: 2, waitMs: 8_000 }
/** Leaves room for the rest of the answer. */
const MAX_TIMELINE_BYTES = 7.5 * 2 ** 20

export function createUserRoutes({ catalog, users, exportUser, readRefusals, nowMs }: UserRoutesParts) {
  const knownCatalog = () => catalog().catch(() => undefined)
  const inProject = createInProject(catalog)
  const limited = createRequestLimit(LOG_READINGS, TOO_MANY_READS)

  return serveApi(usersApi, {
    listProjects: async () => {
      const known = await knownCatalog()
      if (!known) return NO_CATALOG
      return answered({ projects: known.projects().map(({ organization, project }) => ({ organization, project })) })
    },
    findUser: async (input, session, signal) => {
      if ('requestId' in input) {
        const parts = { findRequest: users.findRequest, readRefusals, knownCatalog }
        return limited(session, signal, () => findUserOfRequest(parts, input, signal))
      }
      const { organization, project, userName } = input
      if (!userName.isWellFormed()) return refuse(400, 'bad-input', 'userName: must not contain lone surrogates')
      const found = await findProject(catalog, input)
      if (found.outcome === 'refused') return found
      return answered({ organization, project, userId: userIdOf(organization, project, userName) })
    },
    readUser: async (path, session, signal) => {
      const [known, user, fence] = await Promise.all([
        knownCatalog(),
        users.readUser(path, signal),
        users.readFence(path, signal),
      ])
      const found = known?.project(path.organization, path.project)
      if (known && !found) return NO_PROJECT
      if (user.outcome === 'refused') return user
      const mask = maskFor(session, revealedName(path))
      const profile = user.answer ? profileOf(user.answer, found?.config, mask) : null
      return answered({ ...path, isMasked: mask.isMasked, profile, erasureId: fence?.erasureId ?? null })
    },
    readUserForms: async (path, session, signal) => {
      const [known, forms] = await Promise.all([knownCatalog(), users.readForms(path, signal)])
      if (forms.outcome === 'refused') return forms
      const model = forms.answer ?? { forms: [], queue: [] }
      const found = known?.project(path.organization, path.project)
      const mask = maskFor(session, revealedName(path))
      const triggers = triggersToCount(found?.config.forms ?? [], { seesValues: !mask.isMasked })
      const progress = await users.readTriggerProgress(path, forms.answer ? triggers : [], signal)
      const lines = explainForms({
        forms: model.forms.map((decision) => ({ ...decision, gates: decision.gates.map(mask.gate) })),
        queue: model.queue,
        workspace: known && (found ?? REMOVED_PROJECT),
        progressOf: (trigger) => progress.get(trigger),
        nowMs: nowMs(),
      })
      return answered({ forms: lines.map(formLineOf), queue: model.queue })
    },
    readTimeline: async ({ depth, request, ...path }, session, signal) => {
      const mask = maskFor(session, revealedName(path))
      const query = { user: path, depth, mask, signal }
      const readLog = () => users.readLog(query).then(answered<UserLog>, () => NO_LOG)
      const [read, forms, refusals, known] = await Promise.all([
        limited(session, signal, readLog),
        users.readForms(path, signal),
        readRefusals(path, ALL_KEPT, signal),
        knownCatalog(),
      ])
      if (read.outcome === 'refused') return read
      const config = known?.project(path.organization, path.project)?.config
      return answered(timelineOf({ path, request, log: read.answer, forms, refusals, config, mask }))
    },
    revealUser: inProject(async (_, path, { revealed }) => {
      await revealed.add(revealedName(path))
      return answered({})
    }),
    exportUser: (path, session) => exportUser(path, session),
  })
}

/** Cuts the triggers, which may list thousands of values. */
function formLineOf({ waitsFor, missed, decision, ...line }: FormExplanation): FormLine {
  return {
    ...line,
    decision: decision && { ...decision, gates: [...decision.gates] },
    waitsFor: waitsFor.map((one) => ({ ...one, trigger: shortened(one.trigger) })),
    missed: [...missed],
  }
}

/** Names each obstacle to reading the content of records once. */
function unreadInWords(facts: UserLog['facts']): readonly string[] {
  const reasons = facts.flatMap(({ unread }) => unread ?? [])
  return Array.from(
    Map.groupBy(reasons, (reason) => reason),
    ([reason, { length }]) => {
      const records = length === 1 ? 'one record' : `${length} records`
      return `Traits, device facts and properties of ${records} are missing: ${reason}`
    },
  )
}

function timelineOf({
  path,
  log: { facts, formFacts, reading },
  forms,
  refusals,
  ...parts
}: Pick<Parameters<typeof timelineEntriesOf>[0], 'request' | 'config' | 'mask'> & {
  readonly path: UserPath
  readonly log: UserLog
  readonly forms: Awaited<ReturnType<Users['readForms']>>
  readonly refusals: Awaited<ReturnType<Dependencies['readRefusals']>>
}): Answer<'readTimeline'> {
  const all = timelineEntriesOf({
    ...parts,
    facts,
    formFacts,
    forms: forms.outcome === 'answered' ? (forms.answer ?? { forms: [], queue: [] }) : undefined,
    refusals: (refusals ?? []).filter(({ userId }) => userId === path.userId),
    since: reading.since,
  })
  const gaps = [
    ...(forms.outcome === 'refused'
      ? [`Decisions that queued nothing, and offers, are missing: ${forms.message}`]
      : []),
    ...unreadInWords(facts),
    ...(refusals ? [] : ['Requests that were refused are missing: no gateway answers, or Redis does not.']),
  ]
  const entries = entriesWithin(all, MAX_TIMELINE_BYTES)
  const isCut = entries.length < all.length
  return {
    isMasked: parts.mask.isMasked,
    entries: [...entries],
    gaps,
    reading: isCut ? { ...reading, stopped: 'size', since: entries.at(-1)?.at ?? reading.since } : reading,
  }
}
