import {
  type Claim,
  ClaimAnswer,
  type ClaimVerdict,
  DefinitionsAnswer,
  type DefinitionsQuery,
  FormsReadModel,
  INTERNAL_ROUTES,
  LookUpUsersAnswer,
  QueueAnswer,
  ReserveAnswer,
  SegmentMembersAnswer,
  type SegmentMembersQuery,
  SegmentsAnswer,
  type SegmentsQuery,
  RoomAnswer,
  type RoomQuestion,
  UsageAnswer,
  type UsageQuery,
  type UserQuery,
  UserReadModel,
} from '@nextvisit/contracts'
import { type CallOutcome, createInternalClient } from '@nextvisit/service-kit'
import { z } from 'zod'
import { createBatchedCall } from './admission/batched-call.ts'
import { createNameClaims, type NameClaims } from './admission/name-claims.ts'
import { createReservations, type Reservations } from './admission/reservations.ts'
import { type Breaker, type BreakerWatch, createBreaker } from './breaker.ts'
import { REQUEST_BUDGET_MS } from './budget.ts'

export interface OwnersOptions extends BreakerWatch {
  readonly token: string
  /** Base addresses of each owner's replicas. */
  readonly userProjector: readonly string[]
  readonly traitRegistry: readonly string[]
  readonly metering: readonly string[]
  readonly formTriggerEvaluator: readonly string[]
  /** A question goes out to an owner, many in one call where they are batched. */
  readonly onCall: (owner: string, call: string) => void
}

/** What a read found; `away` where its owner could not say. */
export type Read<Answer> =
  | { readonly outcome: 'found'; readonly value: Answer }
  | { readonly outcome: 'missing' | 'away' }

/** The services that the gateway asks, each behind a breaker of its own. */
export interface Owners {
  readonly lookUpUser: ReturnType<typeof createLookUp>
  readonly reservations: Reservations
  readonly names: NameClaims
  readonly readUser: (query: UserQuery, timeoutMs: number) => Promise<Read<UserReadModel>>
  readonly readQueue: (query: UserQuery, timeoutMs: number) => Promise<Read<z.infer<typeof QueueAnswer>>>
  readonly readForms: (query: UserQuery, timeoutMs: number) => Promise<Read<FormsReadModel>>
  readonly readUsage: (query: UsageQuery, timeoutMs: number) => Promise<Read<z.infer<typeof UsageAnswer>>>
  readonly readDefinitions: (
    query: DefinitionsQuery,
    timeoutMs: number,
  ) => Promise<Read<z.infer<typeof DefinitionsAnswer>>>
  readonly readSegments: (query: SegmentsQuery, timeoutMs: number) => Promise<Read<SegmentsAnswer>>
  readonly readSegmentMembers: (query: SegmentMembersQuery, timeoutMs: number) => Promise<Read<SegmentMembersAnswer>>
  readonly stop: () => void
}

type Ask = <Answer>(path: string, body: object, schema: z.ZodType<Answer>, timeoutMs: number) => Promise<Read<Answer>>

/** By path: `reserve`, `claim`. */
const callNames: ReadonlyMap<string, string> = new Map(
  Object.entries(INTERNAL_ROUTES).map(([name, path]) => [path, name]),
)

interface Owner {
  readonly ask: Ask
  readonly stop: () => void
}

export function createOwners(options: OwnersOptions): Owners {
  const ownerOf = (name: string, baseUrls: readonly string[]) => createOwner(name, baseUrls, options)
  const userProjector = ownerOf('user-projector', options.userProjector)
  const traitRegistry = ownerOf('trait-registry', options.traitRegistry)
  const metering = ownerOf('metering', options.metering)
  const evaluator = ownerOf('form-trigger-evaluator', options.formTriggerEvaluator)
  return {
    lookUpUser: createLookUp(userProjector.ask),
    reservations: createMetering(metering.ask),
    names: createRegistry(traitRegistry.ask),
    readUser: (query, timeoutMs) => userProjector.ask(INTERNAL_ROUTES.readUser, query, UserReadModel, timeoutMs),
    readQueue: (query, timeoutMs) => evaluator.ask(INTERNAL_ROUTES.readQueue, query, QueueAnswer, timeoutMs),
    readForms: (query, timeoutMs) => evaluator.ask(INTERNAL_ROUTES.readForms, query, FormsReadModel, timeoutMs),
    readUsage: (query, timeoutMs) => metering.ask(INTERNAL_ROUTES.readUsage, query, UsageAnswer, timeoutMs),
    readDefinitions: (query, timeoutMs) =>
      traitRegistry.ask(INTERNAL_ROUTES.readDefinitions, query, DefinitionsAnswer, timeoutMs),
    readSegments: (query, timeoutMs) =>
      userProjector.ask(INTERNAL_ROUTES.readSegments, query, SegmentsAnswer, timeoutMs),
    readSegmentMembers: (query, timeoutMs) =>
      userProjector.ask(INTERNAL_ROUTES.readSegmentMembers, query, SegmentMembersAnswer, timeoutMs),
    stop: () => [userProjector, traitRegistry, metering, evaluator].forEach((owner) => owner.stop()),
  }
}

function createOwner(
  name: string,
  baseUrls: readonly string[],
  { token, onCall, logger, onState }: OwnersOptions,
): Owner {
  const client = createInternalClient({ baseUrls, token, timeoutMs: REQUEST_BUDGET_MS })
  const call = async (
    path: string,
    body: object,
    schema: z.ZodType,
    timeoutMs: number,
  ): Promise<CallOutcome<unknown>> => {
    onCall(name, callNames.get(path) ?? path)
    const result = await client.call(path, body, schema, { remainingMs: timeoutMs })
    if (result.outcome === 'unavailable') throw result.cause
    return result
  }
  const breaker: Breaker<Parameters<typeof call>, CallOutcome<unknown>> = createBreaker(name, call, { logger, onState })
  const ask: Ask = async <Answer>(path: string, body: object, schema: z.ZodType<Answer>, timeoutMs: number) => {
    try {
      const result = (await breaker.fire(path, body, schema, timeoutMs)) as CallOutcome<Answer>
      return result.outcome === 'answered' ? { outcome: 'found', value: result.answer } : { outcome: 'missing' }
    } catch {
      return { outcome: 'away' }
    }
  }
  return { ask, stop: breaker.stop }
}

/** The value, for questions that always have one. A batched call takes a throw as its owner being away. */
async function valueOf<Answer>(read: Promise<Read<Answer>>): Promise<Answer> {
  const found = await read
  if (found.outcome !== 'found') throw new Error('The owner is away')
  return found.value
}

function createLookUp(ask: Ask) {
  return createBatchedCall<z.infer<typeof UserQuery> & { readonly partition: number }, boolean>({
    keyOf: ({ userId }) => userId,
    ask: async (users, timeoutMs) =>
      (await valueOf(ask(INTERNAL_ROUTES.lookUpUsers, { users }, LookUpUsersAnswer, timeoutMs))).exists,
  })
}

function createMetering(ask: Ask): Reservations {
  return createReservations(
    createBatchedCall({
      ask: async (reservations, timeoutMs) =>
        (await valueOf(ask(INTERNAL_ROUTES.reserve, { reservations }, ReserveAnswer, timeoutMs))).verdicts,
    }),
    createBatchedCall<string, true>({
      ask: async (recordIds, timeoutMs) => {
        await valueOf(ask(INTERNAL_ROUTES.release, { recordIds }, z.unknown(), timeoutMs))
        return recordIds.map(() => true)
      },
    }),
  )
}

function createRegistry(ask: Ask): NameClaims {
  return createNameClaims(
    createBatchedCall<Claim, readonly ClaimVerdict[]>({
      bytesOf: bytesAsJson,
      ask: async (claims, timeoutMs) =>
        (await valueOf(ask(INTERNAL_ROUTES.claim, { claims }, ClaimAnswer, timeoutMs))).verdicts,
    }),
    createBatchedCall<RoomQuestion, boolean>({
      bytesOf: bytesAsJson,
      keyOf: ({ organization, project, slug, limit }) => JSON.stringify([organization, project, slug, limit]),
      ask: async (events, timeoutMs) =>
        (await valueOf(ask(INTERNAL_ROUTES.findRoom, { events }, RoomAnswer, timeoutMs))).hasRoom,
    }),
  )
}

function bytesAsJson(question: object): number {
  return Buffer.byteLength(JSON.stringify(question))
}
