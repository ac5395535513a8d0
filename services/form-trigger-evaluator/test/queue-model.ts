import {
  type ActivityThen,
  checkGates,
  createKeptAnswers,
  type FormRule,
  type GateName,
  gatesAtVisit,
  type ProjectOfRevision,
  projectOfRevision,
  type QueueThen,
  TO_QUEUE,
  triggeredBy,
} from '@nextvisit/audit/rules'
import type {
  ActivityFact,
  AnswerGiven,
  EventTracked,
  IdentifyRequested,
  ProjectConfig,
  VisitAnswered,
} from '@nextvisit/contracts'

/**
 * The queue as forms.md describes it, for `queue-model.int.spec.ts`: lists that are searched, no index, and no code of the
 * evaluator or of the domain. Triggers and gates are those of the auditor, which shares no code with them either. Instants
 * in ms.
 */
export interface ModelRow {
  readonly user: string
  readonly form: string
  readonly cause: string
  readonly queuedAt: number
  readonly priority: number
  readonly showFrom: number
  readonly expiresAt: number | null
  state: 'waiting' | 'offered' | 'answered' | 'delivered' | 'expired' | 'cancelled'
  offeredAt: number | null
  shownAt: number | null
  visitId: string | null
  answerStatus: AnswerGiven['status'] | null
  startedAt: number | null
  endedAt: number | null
}

interface ModelUser {
  readonly id: string
  readonly traits: Map<string, string>
  firstSeen?: number
  session?: number
  lastContact?: number
  readonly happened: { readonly slug: string; readonly at: number; readonly session: number | undefined }[]
}

/** The form that a visit is offered, and whether another one waits. */
interface ModelOffer {
  readonly row: ModelRow | undefined
  readonly moreWaiting: boolean
}

/** The same record by the auditor's own types. */
type AuditedFact = Parameters<typeof triggeredBy>[1]

const SESSION_GAP = 30 * 60_000
const OFFER_HOLDS = 30_000

export class QueueModel {
  project: ProjectConfig
  readonly rows: ModelRow[] = []
  /** The last by `user form`. */
  readonly decisions = new Map<string, { readonly outcome: string; readonly record: string }>()
  /** Facts for `form-events` since the last look: `FormQueued user form`. */
  told: string[] = []
  readonly #users = new Map<string, ModelUser>()
  readonly #answers = createKeptAnswers()

  constructor(project: ProjectConfig) {
    this.project = project
  }

  /** `isHeard`: a gateway waits for the reply. */
  identify(fact: IdentifyRequested, isHeard: boolean): ModelOffer {
    const user = this.#user(fact.userId)
    const received = Date.parse(fact.received)
    for (const [slug, value] of Object.entries(fact.operations.set ?? {})) user.traits.set(slug, String(value))
    user.firstSeen = Math.min(user.firstSeen ?? received, received)
    if (fact.source === 'admin') return { row: undefined, moreWaiting: false }
    const startsSession = user.session === undefined || received - (user.lastContact ?? received) >= SESSION_GAP
    if (startsSession) user.session = received
    user.lastContact = Math.max(user.lastContact ?? received, received)
    this.#evaluate(user, fact, startsSession)
    return isHeard ? this.#offer(user, received) : { row: undefined, moreWaiting: false }
  }

  /** Returns the number of forms that the event has queued, now or when it was processed before. */
  track(fact: EventTracked): number {
    const { id, slug, source, evaluateTriggers } = fact
    const user = this.#user(fact.userId)
    const received = Date.parse(fact.received)
    user.happened.push({ slug, at: Date.parse(fact.occurredAt), session: source === 'sdk' ? user.session : undefined })
    if (source === 'sdk') user.lastContact = Math.max(user.lastContact ?? received, received)
    if (!evaluateTriggers) return 0
    this.#evaluate(user, fact, false)
    return this.rows.filter((row) => row.cause === id && row.queuedAt === received).length
  }

  confirm({ visitId, ...fact }: VisitAnswered, row: ModelRow): void {
    if (row.state === 'delivered' && row.visitId === visitId) return
    const received = Date.parse(fact.received)
    row.shownAt = Math.max(row.shownAt ?? received, received)
    row.visitId = visitId
    this.#move(row, 'delivered')
  }

  /** `row`: the row with the id that the answer names. */
  answer(fact: AnswerGiven, row: ModelRow | undefined): void {
    const { userId, formId, status, received, elements } = fact
    this.#answers.give(fact)
    const outcome =
      row?.user !== userId || row.form !== formId ? 'unmatched' : row.endedAt === null ? 'recorded' : 'late'
    this.told.push(`FormAnswered ${outcome} ${status} ${userId} ${formId}`)
    if (!row || outcome !== 'recorded') return
    row.answerStatus = status
    if (Object.keys(elements).length > 0) row.startedAt ??= Date.parse(received)
    if (status === 'partial') return
    row.endedAt = Date.parse(received)
    if (row.state === 'waiting' || row.state === 'offered') this.#move(row, 'answered')
    if (status === 'finished') this.#evaluate(this.#user(userId), fact, false)
  }

  /** Does the work of a tick. */
  tick(now: number): void {
    const { forms } = this.#rules()
    for (const row of this.rows) {
      this.#passTime(row, now)
      if (row.state === 'waiting' && !forms.get(row.form)?.isEnabled) this.#move(row, 'cancelled')
    }
  }

  /** The project as the auditor reads it from the workspace file. */
  #rules(): ProjectOfRevision {
    return projectOfRevision(JSON.parse(JSON.stringify(this.project)))
  }

  #user(id: string): ModelUser {
    const user = this.#users.get(id) ?? { id, traits: new Map(), happened: [] }
    this.#users.set(id, user)
    return user
  }

  #move(row: ModelRow, state: ModelRow['state']): void {
    row.state = state
    row.offeredAt = null
    const told = {
      waiting: '',
      offered: '',
      answered: '',
      delivered: 'Delivered',
      expired: 'Expired',
      cancelled: 'Cancelled',
    }[state]
    if (told) this.told.push(`Form${told} ${row.user} ${row.form}`)
  }

  #passTime(row: ModelRow, now: number): void {
    if (row.state === 'offered' && now - (row.offeredAt ?? now) >= OFFER_HOLDS) this.#move(row, 'waiting')
    if (row.state === 'waiting' && row.expiresAt !== null && now >= row.expiresAt) this.#move(row, 'expired')
  }

  #evaluate(user: ModelUser, fact: ActivityFact | AnswerGiven, startsSession: boolean): void {
    const received = Date.parse(fact.received)
    for (const row of this.rows) if (row.user === user.id) this.#passTime(row, received)
    const activity = this.#activityOf(user, startsSession)
    const check = this.#gatesOf(user, activity, received)
    for (const form of this.#rules().forms.values()) {
      const triggered = triggeredBy(form, fact as AuditedFact, activity)
      if (!triggered) continue
      const isDone = ({ cause, queuedAt, form: id }: ModelRow) =>
        cause === fact.id && queuedAt === received && id === form.id
      if (this.rows.some(isDone)) continue
      const isDifferent = triggered.where?.holds === false
      const differing = fact.type === 'AnswerGiven' ? 'answers-differ' : 'properties-differ'
      const refused = isDifferent ? differing : check(TO_QUEUE, form)
      this.decisions.set(`${user.id} ${form.id}`, { outcome: refused ?? 'queued', record: fact.id })
      if (refused === undefined) this.#queue(user, form, fact.id, received)
    }
  }

  #queue(user: ModelUser, form: FormRule, cause: string, received: number): void {
    this.rows.push({
      user: user.id,
      form: form.id,
      cause,
      queuedAt: received,
      priority: form.priority,
      showFrom: received + form.delayMs,
      expiresAt: form.expiresAfterMs === Infinity ? null : received + form.expiresAfterMs,
      state: 'waiting',
      offeredAt: null,
      shownAt: null,
      visitId: null,
      answerStatus: null,
      startedAt: null,
      endedAt: null,
    })
    this.told.push(`FormQueued ${user.id} ${form.id}`)
  }

  #offer(user: ModelUser, now: number): ModelOffer {
    const check = this.#gatesOf(user, this.#activityOf(user, false), now)
    const { forms } = this.#rules()
    const waiting = this.rows.flatMap((row) => {
      const form = forms.get(row.form)
      const isReady = row.user === user.id && row.state === 'waiting' && row.showFrom <= now
      const lasting: readonly GateName[] = form?.isUntilAnswered ? ['live', 'repeat'] : ['live']
      return isReady && form && check(lasting, form) === undefined ? { row, form } : []
    })
    const [best] = waiting
      .filter(({ form }) => check(gatesAtVisit(form), form) === undefined)
      .map(({ row }) => row)
      .toSorted((a, b) => b.priority - a.priority || a.queuedAt - b.queuedAt || a.form.localeCompare(b.form))
    if (best) {
      best.state = 'offered'
      best.offeredAt = now
    }
    return { row: best, moreWaiting: waiting.some(({ row }) => row !== best) }
  }

  #activityOf(user: ModelUser, startsSession: boolean): ActivityThen {
    return { ...activityOf(user, startsSession), answers: this.#answers.of(`acme/shop/${user.id}`) }
  }

  /** Returns a check of gates against the user's present queue: the reason of the first that refuses. */
  #gatesOf(user: ModelUser, activity: ActivityThen, now: number) {
    const queue = queueOf(this.rows.filter((row) => row.user === user.id))
    const project = this.#rules()
    return (gates: readonly GateName[], form: FormRule): string | undefined =>
      checkGates(gates, { form, project, userId: user.id, now, activity }, queue).reason
  }
}

function activityOf(
  { traits, firstSeen, session, happened }: ModelUser,
  startsSession: boolean,
): Omit<ActivityThen, 'answers'> {
  return {
    traits,
    device: new Map(),
    firstSeenAt: firstSeen === undefined ? null : isoOf(firstSeen),
    startsSession,
    eventOf: (slug) => {
      const events = happened.filter((event) => event.slug === slug)
      const inSession = session === undefined ? [] : events.filter((event) => event.session === session)
      return {
        total: events.length,
        latest: events.map(({ at }) => at).toSorted((one, other) => one - other),
        inSession: inSession.length,
      }
    },
  }
}

/** Converts one user's rows to the queue that the gates read. */
function queueOf(rows: readonly ModelRow[]): QueueThen {
  const delivered = Map.groupBy(
    rows.filter(({ state }) => state === 'delivered'),
    ({ form }) => form,
  )
  const shown = Array.from(delivered, ([form, own]) => {
    const lastAt = isoOf(Math.max(...own.map(({ shownAt }) => shownAt ?? 0)))
    return [form, { times: own.length, lastAt }] as const
  })
  const open = rows.flatMap(({ form, state, queuedAt }) =>
    state === 'waiting' || state === 'offered' ? [[form, { state, queuedAt: isoOf(queuedAt) }] as const] : [],
  )
  const offers = rows.flatMap(({ state, offeredAt, form }) =>
    state === 'offered' ? { formId: form, at: isoOf(offeredAt ?? 0) } : [],
  )
  const offered = offers.toSorted((one, other) => one.at.localeCompare(other.at)).at(-1)
  return { shown: new Map(shown), open: new Map(open), offered }
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}
