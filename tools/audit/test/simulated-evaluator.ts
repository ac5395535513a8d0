import {
  OrganizationConfig,
  type ProjectConfig,
  type QueueRow,
  type ActivityFact,
  type UserFact,
} from '@nextvisit/contracts'
import {
  answerRow,
  applyEvent,
  applyIdentify,
  applyVisit,
  cancel,
  chooseForm,
  compileForms,
  confirm,
  countsForOf,
  EMPTY_PROFILE,
  EMPTY_QUEUE,
  eventContextOf,
  expireDue,
  isOpen,
  momentOf,
  offer,
  type QueueChange,
  queueForms,
  type TriggerContext,
  type UserState,
  visitContextOf,
} from '@nextvisit/domain'
import type { FormFact as AuditedFormFact, UserFact as AuditedUserFact } from '../src/facts.ts'
import { type History, PARTITION } from './audit-history.ts'

/** An offer in the reply to a visit. */
type Offer = Pick<QueueRow, 'formId'> & { readonly queuedId: string }

/** An evaluator with the rules of the domain, without Kafka and Postgres. Its history is correct. */
export interface SimulatedEvaluator {
  /** Publishes a revision. The evaluator uses it from `noticeCatalog` on. */
  readonly apply: (project: ProjectConfig, appliedAt: string) => void
  readonly noticeCatalog: () => void
  /** Folds a record. `isAwaited`: a gateway waits for the reply. Returns the offer, if it is a visit that gets one. */
  readonly fold: (fact: UserFact, isAwaited: boolean) => Offer | undefined
  readonly tick: (instant: string) => void
  readonly history: (asOf: string) => History
}

const ORGANIZATION = 'acme'
/** The sealed members of every answer. */
const SEALED = { key: '019a4423-5b80-7cc1-8f5d-0c2f6a1b7e44', bytes: 'c2VhbGVk' }

export function createSimulatedEvaluator(): SimulatedEvaluator {
  const catalog: { readonly project: ProjectConfig; readonly record: object }[] = []
  let revision = 0
  const users = new Map<string, UserState>()
  const records: UserFact[] = []
  const forms: object[] = []
  const decisions = new Map<string, object>()

  const projectNow = (): ProjectConfig | undefined => catalog[revision - 1]?.project
  /** Adds the counts that a gateway with the same revision writes, and sealed members. */
  const withCounts = (fact: UserFact): UserFact => {
    const config = projectNow()
    if (fact.type === 'AnswerGiven') return { ...fact, sealed: SEALED } as UserFact
    return config && fact.type === 'EventTracked' ? { ...fact, ...countsForOf(config, fact) } : fact
  }
  const change = (user: UserState, { queue, facts }: QueueChange): void => {
    user.queue = queue
    forms.push(...facts)
  }

  const evaluate = (user: UserState, fact: ActivityFact, trigger: TriggerContext) => {
    const { id: recordId, organization, project, userId, environment, received: decidedAt } = fact
    const config = projectNow()
    if (!config) return
    const cause = { user: fact, recordId, environment, catalogRevision: revision }
    const evaluated = queueForms(compileForms(config), user, trigger, cause)
    change(user, evaluated)
    for (const decision of evaluated.decisions) {
      const { formId, gates } = decision
      const details = JSON.stringify({ trigger: decision.trigger, gates })
      const outcome = decision.outcome === 'queued' ? 'queued' : decision.reason
      const common = { organization, project, userId, formId, recordId, decidedAt, catalogRevision: revision }
      decisions.set(`${userId}/${formId}`, { ...common, outcome, details })
    }
  }

  const offerAt = (user: UserState, received: string): Offer | undefined => {
    const config = projectNow()
    const row = config && chooseForm(compileForms(config), user, momentOf(received)).offer
    if (!row) return undefined
    user.queue = offer(user.queue, row, momentOf(received))
    return { queuedId: row.id, formId: row.formId }
  }

  return {
    apply: (project, appliedAt) => {
      const config = OrganizationConfig.parse({ id: ORGANIZATION, projects: [project] })
      const record = { organization: ORGANIZATION, revision: catalog.length + 1, config, appliedAt }
      catalog.push({ project, record })
    },

    noticeCatalog: () => {
      revision = catalog.length
    },

    fold: (written, isAwaited) => {
      const fact = withCounts(written)
      records.push(fact)
      const user = users.get(fact.userId) ?? newUser(fact.userId)
      users.set(fact.userId, user)
      if (fact.type === 'VisitAnswered') {
        change(user, confirm(user.queue, fact))
        return undefined
      }
      if (fact.type === 'EventTracked') {
        applyEvent(user, fact)
        if (fact.evaluateTriggers) evaluate(user, fact, eventContextOf(fact))
        return undefined
      }
      if (fact.type === 'AnswerGiven') {
        const answered = answerRow(user.queue, fact, SEALED)
        user.queue = answered.queue
        forms.push(answered.fact)
        return undefined
      }
      if (fact.type === 'UserErased') throw new Error('The simulation erases nobody')
      applyIdentify(user, fact)
      const startsSession = applyVisit(user, fact)
      if (fact.source === 'admin') return undefined
      evaluate(user, fact, visitContextOf(fact, startsSession))
      return isAwaited ? offerAt(user, fact.received) : undefined
    },

    tick: (instant) => {
      const now = momentOf(instant)
      const project = projectNow()
      const configured = project && compileForms(project).byId
      for (const user of users.values()) {
        change(user, expireDue(user.queue, now))
        for (const row of user.queue.open.values()) {
          const isRemoved = row.state === 'waiting' && !configured?.get(row.formId)?.isEnabled
          if (isOpen(row) && isRemoved) change(user, cancel(user.queue, row, now))
        }
      }
    },

    history: (asOf) => ({
      catalog: catalog.map(({ record }) => record),
      records: records as unknown as AuditedUserFact[],
      forms: forms as AuditedFormFact[],
      queue: [...users.values()].flatMap(({ queue }) =>
        [...queue.rows.values()].map((row) => ({ ...row, partition: PARTITION, asOf })),
      ),
      decisions: [...decisions.values()],
    }),
  }
}

function newUser(userId: string): UserState {
  return { userId, profile: EMPTY_PROFILE, events: new Map(), answers: new Map(), queue: EMPTY_QUEUE }
}
