import { randomUUID } from 'node:crypto'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import type { JsonObject } from '@nextvisit/domain'
import type { PublishOutcome } from '@nextvisit/log'
import { createDataKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import type { Admitted } from '../src/admission/admission.ts'
import type { Idempotency } from '../src/idempotency/idempotent-request.ts'
import { answer, type CheckedRequest } from '../src/http/route.ts'
import type { IdempotencyLock, KeptAnswers } from '../src/idempotency/kept-answers.ts'
import type { RequestedItem } from '../src/ingest/plan-batch.ts'
import { createStages, defineKind, type RecordKind, type Stages, type StagesParts } from '../src/ingest/stages.ts'
import type { ReplyWaiter } from '../src/ingest/reply-waiter.ts'

/** The members of an admin request that stages read. */
export const REQUEST = {
  key: { entry: { kind: 'admin' } },
  project: { organization: 'acme', project: 'shop' },
} as unknown as CheckedRequest

export const ADMITTED: Admitted<ReturnType<typeof eventTracked>> = {
  outcome: 'admitted',
  fact: eventTracked(),
  conclude: async () => undefined,
}
/** A data key of any user. */
export const KEY = createDataKey(givenKeyRing('ab'.repeat(32)), randomUUID(), Date.now()).key
export const PUBLISHED: PublishOutcome = { outcome: 'published', offset: 0n }

/** Returns the `Idempotency-Key` of an item. One `key` with two contents stands for two requests. */
export function idempotencyOf(key: string, content: string): Idempotency {
  return { key, name: `acme/shop/${key}`, recordId: `${key} ${content}` }
}

/** Returns an item of a batch. `own`: members of its request. */
export function requestedItem(
  kind: RecordKind,
  body: JsonObject,
  own: Partial<CheckedRequest> = {},
  createUser?: () => RequestedItem,
): RequestedItem {
  const request = { ...REQUEST, requestId: 'record', idempotency: 'none', body, ...own } as const
  return { kind, request, length: 0, createUser }
}

/** Returns a kind that admits everything, with the given functions replaced. */
export function kindWith(kind: Partial<RecordKind<{ userName: string }>>): RecordKind {
  return defineKind({
    identifies: false,
    parse: ({ body }) => ({ outcome: 'ok', value: { userName: String(body['userName']) } }),
    admit: async () => ADMITTED,
    mayReact: () => false,
    answer: () => answer(200, {}),
    ...kind,
  })
}

/** Stages without connections, and their locks and waiters with the ends of each. */
export function givenStages(parts: Partial<StagesParts> = {}) {
  const locks: { readonly ends: ('keep' | 'release' | 'abandon')[] }[] = []
  const waiters: { cancelled: number }[] = []
  const lock: KeptAnswers['lock'] = async () => {
    const ended = { ends: [] as ('keep' | 'release' | 'abandon')[] }
    locks.push(ended)
    const end = (how: 'keep' | 'release' | 'abandon') => async () => void ended.ends.push(how)
    const [keep, release, abandon] = [end('keep'), end('release'), end('abandon')]
    return { outcome: 'locked', isRetry: false, keep, release, abandon } satisfies IdempotencyLock
  }
  const expect = (): NonNullable<ReturnType<ReplyWaiter['expect']>> => {
    const waiter = { cancelled: 0 }
    waiters.push(waiter)
    return { channel: 'replies', reply: async () => 'later', cancel: () => void (waiter.cancelled += 1) }
  }
  const stages: Stages = createStages({
    checkSignature: () => 'valid',
    checkSuppression: () => undefined,
    keptAnswers: { lock },
    knownUsers: { check: async () => 'exists', keyOf: async () => KEY },
    userEvents: { partitionOf: (userId) => ({ userId, partition: 0 }), publish: async () => PUBLISHED },
    replies: { expect },
    onRecorded: () => undefined,
    ...parts,
  })
  return { stages, locks, waiters, lock }
}
