import type { EventTracked, FormFact, IdentifyRequested, ProjectConfig, UserFact } from '@nextvisit/contracts'
import {
  type AskedFacts,
  chooseForm,
  compileForms,
  evaluateForms,
  factsAskedBy,
  foldEvent,
  foldIdentify,
  foldSdkContact,
  type FormIndex,
  type Occasion,
  type UserActivity,
} from '@nextvisit/domain'
import { askedOf } from './asked-of.ts'
import { createCopyLedger } from './copy-ledger.ts'
import { lapsed, NOTHING_PLAYED, type Play, withFact, withQueued, withShownForm } from './play.ts'
import { count, emptyTally, type FormTally } from './tally.ts'

/** A project as the file has it, and as it is applied today. */
export interface ComparedProject {
  readonly organization: string
  readonly project: string
  readonly proposed: ProjectConfig
  readonly today: ProjectConfig | undefined
}

/** Which records are evaluated: those received in [from, to), ms since the epoch. */
export interface Period {
  readonly from: number
  readonly to: number
}

/** A project's forms under one catalog: what they come to, by form id. */
export type Tallies = ReadonlyMap<string, FormTally>
export interface RehearsedProject extends ComparedProject {
  readonly tallies: { readonly proposed: Tallies; readonly today: Tallies | undefined }
}

/** One of the catalogs that are compared. */
interface Side {
  readonly index: FormIndex
  readonly tallies: Map<string, FormTally>
}
type SideName = 'proposed' | 'today'

interface Stage {
  readonly compared: ComparedProject
  readonly asked: AskedFacts
  readonly sides: ReadonlyMap<SideName, Side>
  readonly users: Map<string, RehearsingUser>
}

interface RehearsingUser extends UserActivity {
  readonly userId: string
  /** What there was when the period began, then each catalog's own. */
  plays: Readonly<Record<SideName, Play>>
  /** `<side>/<form>` that came into their queue. */
  counted?: Set<string>
}

/**
 * Evaluates forms over what is in the log, by the evaluator's own rules, in memory (forms.md). Queue and clocks begin as
 * they were at the start of the period; from then on each catalog plays alone: every visit is offered a form, whether its
 * gateway asked for one or not (where no form was applied then, none did), and every offer counts as shown. Kept of a user
 * is only what the forms ask about.
 */
export function createRehearsal(projects: readonly ComparedProject[], { from, to }: Period) {
  const stages = new Map(projects.map((compared) => [placeOf(compared), stageOf(compared)]))
  const ledger = createCopyLedger()

  return {
    /** To be called for all of `form-events` before the first record of `user-events`. */
    takeFormFact: (fact: FormFact): void => {
      const stage = stages.get(placeOf(fact))
      if (!stage || Date.parse(fact.at) >= from) return
      const user = userOf(stage, fact.userId)
      const really = withFact(user.plays.today, fact)
      user.plays = { today: really, proposed: really }
    },

    takeUserFact: (fact: UserFact): void => {
      const stage = stages.get(placeOf(fact))
      if (!stage || fact.type === 'VisitAnswered' || Date.parse(fact.received) >= to || ledger.takeIsCopy(fact)) return
      const user = userOf(stage, fact.userId)
      const occasion = fact.type === 'EventTracked' ? foldTracked(stage, user, fact) : foldIdentified(stage, user, fact)
      if (!occasion || occasion.receivedAt < from) return
      for (const [name, side] of stage.sides) enact(user, name, side, occasion)
    },

    users: (): number => [...stages.values()].reduce((sum, { users }) => sum + users.size, 0),

    result: (): readonly RehearsedProject[] =>
      [...stages.values()].map(({ compared, sides }) => ({
        ...compared,
        tallies: { proposed: sides.get('proposed')?.tallies ?? new Map(), today: sides.get('today')?.tallies },
      })),
  }
}

export type Rehearsal = ReturnType<typeof createRehearsal>

function placeOf({ organization, project }: { readonly organization: string; readonly project: string }): string {
  return `${organization}/${project}`
}

function stageOf(compared: ComparedProject): Stage {
  const { proposed, today } = compared
  const sides = new Map<SideName, Side>([['proposed', sideOf(proposed)]])
  if (today) sides.set('today', sideOf(today))
  return { compared, asked: factsAskedBy(today ? [proposed, today] : [proposed]), sides, users: new Map() }
}

function sideOf(config: ProjectConfig): Side {
  return { index: compileForms(config), tallies: new Map(config.forms.map(({ id }) => [id, emptyTally()])) }
}

function userOf({ users }: Stage, userId: string): RehearsingUser {
  const known = users.get(userId)
  if (known) return known
  const plays = { proposed: NOTHING_PLAYED, today: NOTHING_PLAYED }
  const user: RehearsingUser = { userId, traits: new Map(), device: {}, events: new Map(), plays }
  users.set(userId, user)
  return user
}

/** The occasion that a record makes, if it evaluates anything. */
function foldTracked({ asked }: Stage, user: RehearsingUser, fact: EventTracked): Occasion | undefined {
  if (asked.events.has(fact.slug)) foldEvent(user, fact)
  else foldSdkContact(user, fact)
  if (!fact.evaluateTriggers) return undefined
  const { slug, source, received, occurredAt } = fact
  return { kind: 'event', slug, source, receivedAt: Date.parse(received), occurredAt: Date.parse(occurredAt) }
}

function foldIdentified({ asked }: Stage, user: RehearsingUser, fact: IdentifyRequested): Occasion | undefined {
  const startsSession = foldIdentify(user, askedOf(fact, asked))
  if (fact.source === 'admin') return undefined
  return { kind: 'visit', startsSession, receivedAt: Date.parse(fact.received) }
}

function enact(user: RehearsingUser, name: SideName, side: Side, occasion: Occasion): void {
  const { receivedAt } = occasion
  let now = lapsed(user.plays[name], receivedAt)
  for (const decision of evaluateForms(side.index, { ...user, ...now }, occasion)) {
    const tally = side.tallies.get(decision.formId)
    if (tally) count(tally, decision, decision.outcome === 'queued' && isFirstTime(user, `${name}/${decision.formId}`))
    if (decision.outcome === 'queued') now = withQueued(now, decision, receivedAt)
  }
  if (occasion.kind === 'visit') {
    const { offer } = chooseForm(side.index, { ...user, ...now }, receivedAt)
    if (offer) now = withShownForm(now, offer.formId, receivedAt)
  }
  if (now !== user.plays[name]) user.plays = { ...user.plays, [name]: now }
}

function isFirstTime(user: RehearsingUser, key: string): boolean {
  user.counted ??= new Set()
  if (user.counted.has(key)) return false
  user.counted.add(key)
  return true
}
