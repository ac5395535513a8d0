import {
  type AnswerGiven,
  type EventTracked,
  type AnyFormFact,
  type IdentifyRequested,
  isActivityFact,
  isSegmentFact,
  type ProjectConfig,
  type ProjectRef,
  type ActivityFact,
  type UserFact,
} from '@nextvisit/contracts'
import {
  answeredContextOf,
  applyAnswer,
  applyEvent,
  applyFormFact,
  applyIdentify,
  applySdkContact,
  applyVisit,
  type NeededFacts,
  chooseForm,
  compileForms,
  confirm,
  countKeysOf,
  countsForOf,
  EMPTY_QUEUE,
  eventContextOf,
  factsNeededBy,
  type FormIndex,
  EMPTY_PROFILE,
  NO_ANSWERS,
  projectKeyOf,
  type Queue,
  queueForms,
  queueOf,
  type TriggerContext,
  type User,
  visitContextOf,
} from '@nextvisit/domain'
import { createDuplicatesLedger } from './duplicates-ledger.ts'
import { emptyTally, type FormTally, tallyDecision } from './form-tally.ts'

/** A project in the file, and the same project as applied today. */
export interface ComparedProject extends ProjectRef {
  readonly proposed: ProjectConfig
  readonly today: ProjectConfig | undefined
}

/** Evaluated period: records received in [from, to), ms since the epoch. */
export interface Period {
  readonly from: number
  readonly to: number
}

/** Tallies of a project's forms under one catalog, by form id. */
type Tallies = ReadonlyMap<string, FormTally>
export interface SimulatedProject extends ComparedProject {
  readonly tallies: { readonly proposed: Tallies; readonly today: Tallies | undefined }
}

/** One of the two compared catalogs. */
interface Side {
  readonly index: FormIndex
  readonly tallies: Map<string, FormTally>
}
type SideName = 'proposed' | 'today'

/** State of a project while its log is read. */
interface ProjectState {
  readonly compared: ComparedProject
  readonly needed: NeededFacts
  readonly sides: ReadonlyMap<SideName, Side>
  readonly users: Map<string, SimulatedUser>
  /** The ids of the answers that have finished an offer. */
  readonly finishing: Set<string>
}

interface SimulatedUser extends User {
  readonly userId: string
  /** Queues per side. Both start as the real queue at the start of the period, and then diverge. */
  queues: Readonly<Record<SideName, Queue>>
  /** `<side>/<form>` of every form that was queued for the user at least once. */
  counted?: Set<string>
}

/**
 * Creates a simulation that evaluates forms on records of the log in memory, with the evaluator's own rules (forms.md).
 * Queues and clocks start in their state at the start of the period. From then on each catalog has its own queue. Every
 * visit is offered a form, even if its gateway asked for none because no form was applied, and every offer is confirmed.
 * Of a user's activity only facts that the forms use are kept.
 */
export function createSimulation(projects: readonly ComparedProject[], { from, to }: Period) {
  const states = new Map(projects.map((compared) => [projectKeyOf(compared), stateOf(compared)]))
  const ledger = createDuplicatesLedger()

  return {
    /** Takes a record of `form-events`. All of them precede the first record of `user-events`. */
    takeFormFact: (fact: AnyFormFact): void => {
      const state = states.get(projectKeyOf(fact))
      if (!state || isSegmentFact(fact)) return
      if (fact.type === 'FormAnswered' && fact.outcome === 'recorded' && fact.status === 'finished') {
        state.finishing.add(fact.id)
      }
      if (Date.parse(fact.at) >= from) return
      const user = userOf(state, fact.userId)
      const queue = applyFormFact(user.queues.today, fact)
      user.queues = { today: queue, proposed: queue }
    },

    takeUserFact: (fact: UserFact): void => {
      const state = states.get(projectKeyOf(fact))
      if (!state || !isSimulated(fact) || Date.parse(fact.received) >= to) return
      if (ledger.takeIsDuplicate(fact)) return
      const user = userOf(state, fact.userId)
      const context = foldUserFact(state, user, fact)
      if (!context || context.received.ms < from) return
      for (const [name, side] of state.sides) {
        const queue = simulate(user, { name, side }, { fact, context })
        if (queue !== user.queues[name]) user.queues = { ...user.queues, [name]: withoutOver(queue) }
      }
    },

    users: (): number => [...states.values()].reduce((sum, { users }) => sum + users.size, 0),

    result: (): readonly SimulatedProject[] =>
      [...states.values()].map(({ compared, sides }) => ({
        ...compared,
        tallies: { proposed: sides.get('proposed')?.tallies ?? new Map(), today: sides.get('today')?.tallies },
      })),
  }
}

export type Simulation = ReturnType<typeof createSimulation>

function stateOf(compared: ComparedProject): ProjectState {
  const { proposed, today } = compared
  const sides = new Map<SideName, Side>([['proposed', sideOf(proposed)]])
  if (today) sides.set('today', sideOf(today))
  return {
    compared,
    needed: factsNeededBy(today ? [proposed, today] : [proposed]),
    sides,
    users: new Map(),
    finishing: new Set(),
  }
}

function sideOf(config: ProjectConfig): Side {
  return { index: compileForms(config), tallies: new Map(config.forms.map(({ id }) => [id, emptyTally()])) }
}

function userOf({ users }: ProjectState, userId: string): SimulatedUser {
  const known = users.get(userId)
  if (known) return known
  const queues = { proposed: EMPTY_QUEUE, today: EMPTY_QUEUE }
  const user: SimulatedUser = { userId, profile: EMPTY_PROFILE, events: new Map(), answers: NO_ANSWERS, queues }
  users.set(userId, user)
  return user
}

/** Returns whether a fact changes a user or sets off a form. */
function isSimulated(fact: UserFact): fact is SimulatedFact {
  return isActivityFact(fact) || fact.type === 'AnswerGiven'
}
type SimulatedFact = ActivityFact | AnswerGiven

/** Folds a record, and returns the input for triggers if the record is evaluated. */
function foldUserFact(state: ProjectState, user: SimulatedUser, fact: SimulatedFact): TriggerContext | undefined {
  switch (fact.type) {
    case 'EventTracked':
      return foldTracked(state, user, fact)
    case 'IdentifyRequested':
      return foldIdentified(state, user, fact)
    case 'AnswerGiven':
      return foldAnswer(state, user, fact)
  }
}

/** Only the answers that finished an offer set off forms, and only the evaluator knows which: its outcomes are in `form-events`. */
function foldAnswer(
  { needed, finishing }: ProjectState,
  user: SimulatedUser,
  fact: AnswerGiven,
): TriggerContext | undefined {
  if (needed.answers) user.answers = applyAnswer(user.answers, fact)
  return finishing.has(fact.id) ? answeredContextOf(fact) : undefined
}

function foldTracked(
  { compared, needed }: ProjectState,
  user: SimulatedUser,
  fact: EventTracked,
): TriggerContext | undefined {
  const counted = countsFromProperties(compared, fact).filter((key) => needed.events.has(key))
  if (counted.length > 0) applyEvent(user, fact, counted)
  else applySdkContact(user, fact)
  if (!fact.evaluateTriggers) return undefined
  return eventContextOf(fact)
}

/**
 * Returns the property counts that the event counts for, under both catalogs. Its record names only the counts that the
 * project used when it was written (forms.md, Property counts).
 */
function countsFromProperties({ proposed, today }: ComparedProject, fact: EventTracked): readonly string[] {
  const hashes = [proposed, today ?? proposed].flatMap((project) => countsForOf(project, fact).countsFor ?? [])
  return countKeysOf({ slug: fact.slug, countsFor: [...new Set(hashes)] })
}

function foldIdentified(
  { needed }: ProjectState,
  user: SimulatedUser,
  fact: IdentifyRequested,
): TriggerContext | undefined {
  applyIdentify(user, keepNeededFacts(fact, needed))
  const startsSession = applyVisit(user, fact)
  return fact.source === 'admin' ? undefined : visitContextOf(fact, startsSession)
}

/** Returns one side's queue of the user after a record. */
function simulate(
  user: SimulatedUser,
  { name, side }: { readonly name: SideName; readonly side: Side },
  { fact, context }: { readonly fact: SimulatedFact; readonly context: TriggerContext },
): Queue {
  const { received } = context
  // The revision of a simulated row is never read.
  const { environment } = fact
  const cause = { user: fact, recordId: fact.id, environment, catalogRevision: 0 }
  const { queue, decisions } = queueForms(side.index, { ...user, queue: user.queues[name] }, context, cause)
  for (const decision of decisions) {
    const tally = side.tallies.get(decision.formId)
    const isQueued = decision.outcome === 'queued'
    if (tally) tallyDecision(tally, decision, isQueued && isFirstTime(user, `${name}/${decision.formId}`))
  }
  if (!context.visit) return queue
  const { offer } = chooseForm(side.index, { ...user, queue }, received)
  if (!offer) return queue
  const shown = side.tallies.get(offer.formId)
  if (shown) shown.delivered += 1
  return confirm(queue, { queuedId: offer.id, visitId: fact.id, received: received.iso, environment }).queue
}

/** Removes closed rows, which a simulation never uses again. */
function withoutOver({ open, shown }: Queue): Queue {
  return queueOf([...open.values()], shown)
}

function isFirstTime(user: SimulatedUser, key: string): boolean {
  user.counted ??= new Set()
  if (user.counted.has(key)) return false
  user.counted.add(key)
  return true
}

/**
 * Returns an identify without facts that no form uses. If a form uses one trait, all traits are kept, because limits on the
 * user's traits may drop an operation on it (decisions.md, Identify).
 */
function keepNeededFacts(fact: IdentifyRequested, { traits, deviceFields }: NeededFacts): IdentifyRequested {
  return {
    ...fact,
    operations: traits.size > 0 ? fact.operations : {},
    device: only(fact.device, deviceFields),
  }
}

function only<Members extends object>(members: Members, wanted: ReadonlySet<string>): Members {
  return Object.fromEntries(Object.entries(members).filter(([key]) => wanted.has(key))) as Members
}
