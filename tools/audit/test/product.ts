// The product's own sealing, fences and kept answers: specs compare the auditor with them.
import { type AnswerGiven, encodeRecord } from '@nextvisit/contracts'
import { applyAnswer, NO_ANSWERS, storedAnswersOf } from '@nextvisit/domain'
import { createDataKey } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'

export { isFenced as isFencedInProduct } from '@nextvisit/domain'

/** Returns the product's rows of kept answers of one user, by form. */
export function keptAnswersInProduct(facts: readonly AnswerGiven[]) {
  const states = facts.reduce(applyAnswer, NO_ANSWERS)
  return new Map(Array.from(states, ([formId, state]) => [formId, storedAnswersOf(state)]))
}

export type ProductKey = ReturnType<typeof createProductKey>

/** Creates a key of a user, wrapped by a key of NEXTVISIT_SECRET_KEY. */
export function createProductKey(secretKey: string, userId: string, atMs: number) {
  const { key, wrapped } = createDataKey(givenKeyRing(secretKey), userId, atMs)
  return { name: `${userId}/${key.id}`, id: key.id, wrapped: wrapped.wrapped, seal: key.seal }
}

/** Returns a record as the services write it, sealed with a key. */
export function sealedRecord(fact: { readonly id: string; readonly type: string }, { id, seal }: ProductKey) {
  const { value, headers } = encodeRecord(fact, {
    source: 'spec',
    time: '2026-11-02T10:00:00.000Z',
    seal: (text, context) => ({ key: id, bytes: seal(text, context) }),
  })
  return { value: Buffer.from(value), headers }
}
