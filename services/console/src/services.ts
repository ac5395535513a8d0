import {
  CALLS,
  type CallTable,
  consumerCalls,
  type KeptRefusal,
  type ProjectRef,
  type ServiceName,
  SINGLE_PARTITION_TOPICS,
  type Topic,
  TOPICS,
} from '@nextvisit/contracts'
import {
  type Addresses,
  type CallFunction,
  type CallClient,
  createCallClient,
  createForEachProcess,
  type CallOutcome,
  createInternalClient,
} from '@nextvisit/service-kit'
import type { z } from 'zod'
import { answered, type ApiRefusal, type ApiResult, refuse } from './http/api-route.ts'

/**
 * Calls of a service as functions. A failure is a refusal that tells the reader what to do. `signal` ends the call, also in
 * the service.
 */
export type ServiceCalls<Table extends CallTable> = {
  readonly [Name in keyof Table]: (
    question: z.input<Table[Name]['question']>,
    signal?: AbortSignal,
  ) => Promise<ApiResult<z.output<Table[Name]['answer']>>>
}
export type CallsOf<Name extends ServiceName> = ServiceCalls<(typeof CALLS)[Name]>
type ConsumerCalls = ServiceCalls<typeof consumerCalls>

/** A process of a consumer. */
export interface ConsumerProcess {
  readonly service: string
  readonly url: string
  readonly calls: ConsumerCalls
}

/** Returns whether a service is a consumer: every one but the gateway is. */
export function isConsumer(service: string): boolean {
  return service !== 'gateway'
}

export const CONSUMERS = (Object.keys(CALLS) as ServiceName[]).filter(isConsumer)

/** Returns the topic that a consumer folds. */
export function topicOf(consumer: string): Topic {
  return OTHER_TOPICS.get(consumer) ?? TOPICS.userEvents
}

/** Topics of the consumers that do not fold user-events. */
const OTHER_TOPICS: ReadonlyMap<string, Topic> = new Map([
  ['answer-collector', TOPICS.formEvents],
  ['webhook-dispatcher', TOPICS.formEvents],
  ['user-eraser', TOPICS.erasures],
])

/** Returns the number of partitions that a consumer folds. `keyPartitions`: of the topics keyed by user. */
export function partitionsOf(consumer: string, keyPartitions: number): number {
  return SINGLE_PARTITION_TOPICS.has(topicOf(consumer)) ? 1 : keyPartitions
}

const WITHIN_MS = 3_000
/** A retry may select very many dead letters. */
const DEAD_LETTERS_WITHIN_MS = 5_000
/** A change is published before the answer. */
const CHANGE_WITHIN_MS = 10_000
/** Live and Operations ask again soon. */
const SOON_AGAIN_WITHIN_MS = 2_000
/** Number of refusals that Live shows. */
const LATEST_REFUSALS = 200

/** `error` of the refusal if a service has nothing by that name. */
export const NOT_FOUND = 'not-found'

/** Internal addresses of each service. */
export type ServiceAddresses = Readonly<Record<ServiceName, Addresses>>

/** The services as the console calls them. */
export type Services = ReturnType<typeof createServices>

/** Creates the calls to every service. Nothing is connected before the first call. `token`: shared by all services. */
export function createServices(services: ServiceAddresses, token: string) {
  const evaluatorCalls = CALLS['form-trigger-evaluator']
  const callsOf = <Table extends CallTable>(
    service: ServiceName,
    table: Table,
    timeoutMs = WITHIN_MS,
    addresses = services[service],
  ) => refusing(service, createCallClient(table, createInternalClient({ addresses, token, timeoutMs })))
  const evaluators = createForEachProcess(services['form-trigger-evaluator'], (own) =>
    callsOf('form-trigger-evaluator', evaluatorCalls, WITHIN_MS, own),
  )
  const processes = CONSUMERS.map((service) =>
    createForEachProcess(services[service], (own, url): ConsumerProcess => {
      return { service, url, calls: callsOf(service, consumerCalls, SOON_AGAIN_WITHIN_MS, own) }
    }),
  )
  const live = callsOf('gateway', CALLS.gateway, SOON_AGAIN_WITHIN_MS)
  const { readKnownErasures, readSuppressions } = callsOf('gateway', CALLS.gateway)

  /** Reads the latest refusals of a project. undefined: no gateway answers, or Redis does not. */
  async function readRefusals(
    { organization, project }: ProjectRef,
    limit = LATEST_REFUSALS,
    signal?: AbortSignal,
  ): Promise<readonly KeptRefusal[] | undefined> {
    const result = await live.readRefusals({ organization, project, limit }, signal)
    return result.outcome === 'answered' ? (result.answer.refusals ?? undefined) : undefined
  }

  return {
    readRefusals,
    gateway: { ...callsOf('gateway', CALLS.gateway, CHANGE_WITHIN_MS), readKnownErasures, readSuppressions },
    eraser: callsOf('user-eraser', CALLS['user-eraser']),
    projector: callsOf('user-projector', CALLS['user-projector']),
    registry: callsOf('trait-registry', CALLS['trait-registry']),
    metering: callsOf('metering', CALLS.metering),
    evaluator: callsOf('form-trigger-evaluator', evaluatorCalls),
    collector: callsOf('answer-collector', CALLS['answer-collector']),
    dispatcher: callsOf('webhook-dispatcher', CALLS['webhook-dispatcher']),
    /** Each process of the evaluator: it counts only its own decisions. */
    evaluators: async () => [...(await evaluators()).values()],
    /** Any process of each consumer: all of them know the dead letters of the whole service. */
    consumers: new Map<string, ConsumerCalls>(
      CONSUMERS.map((name) => [name, callsOf(name, consumerCalls, DEAD_LETTERS_WITHIN_MS)]),
    ),
    /** Each process of each consumer: it knows only the partitions that it owns. */
    processes: async (): Promise<readonly ConsumerProcess[]> => {
      const all = await Promise.all(processes.map((ofService) => ofService()))
      return all.flatMap((own) => [...own.values()])
    },
  }
}

function refusing<Table extends CallTable>(service: string, client: CallClient<Table>): ServiceCalls<Table> {
  const calls = Object.entries<CallFunction<never, unknown>>(client).map(([name, call]) => {
    const ask = async (question: never, signal?: AbortSignal) =>
      resultOf(service, await call(question, signal && { signal }))
    return [name, ask]
  })
  return Object.fromEntries(calls) as ServiceCalls<Table>
}

function resultOf<Answer>(service: string, outcome: CallOutcome<Answer>): ApiResult<Answer> {
  switch (outcome.outcome) {
    case 'answered':
      return answered(outcome.answer)
    case 'not-found':
      return refuse(404, NOT_FOUND, `${service} has nothing by that name.`)
    case 'behind':
      return refuse(503, 'behind', `${service} is behind the log. Try again; the Overview shows by how much.`)
    case 'unavailable':
      return noAnswerOf(service)
  }
}

export function noAnswerOf(service: string): ApiRefusal {
  return refuse(503, 'no-answer', `${service} does not answer. The Overview says what to do.`)
}

/** Replaces the refusal of a service that has nothing by that name. */
export function named<Result extends { readonly outcome: string }>(
  result: Result,
  refusal: ApiRefusal,
): Result | ApiRefusal {
  return result.outcome === 'refused' && 'error' in result && result.error === NOT_FOUND ? refusal : result
}
