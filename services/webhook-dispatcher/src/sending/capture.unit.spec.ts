import { randomUUID } from 'node:crypto'
import type { KnownTraits, UserQuery } from '@nextvisit/contracts'
import { USER_LIMITS } from '@nextvisit/domain'
import type { CallOutcome } from '@nextvisit/service-kit'
import { expect, it } from 'vitest'
import { createTraitsReader, MAX_USERS_ASKED } from './capture.ts'

const USER = { organization: 'acme', project: 'shop' }
const KNOWN: KnownTraits = { existence: 'missing' }

it('users of a partition whose fold halts delay no users of others', async () => {
  const halted = randomUUID()
  const read = createTraitsReader(({ questions }) =>
    questions.some(({ userId }) => userId === halted) ? new Promise(() => {}) : answeredTo(questions),
  )
  void read(3, { ...USER, userId: halted })
  const others = [0, 1, 2, 4, 5].map((partition) => read(partition, { ...USER, userId: randomUUID() }))
  expect(await Promise.all(others)).toEqual(others.map(() => ({ outcome: 'answered', answer: KNOWN })))
})

it('no answer about users with all the traits they may have is larger than a client reads', async () => {
  const sizes: number[] = []
  const read = createTraitsReader(({ questions }) => (sizes.push(questions.length), answeredTo(questions)))
  await Promise.all(Array.from({ length: 60 }, () => read(0, { ...USER, userId: randomUUID() })))
  expect(Math.max(...sizes)).toBe(MAX_USERS_ASKED)
  expect(MAX_USERS_ASKED * (USER_LIMITS.traitBytes + 8_192)).toBeLessThan(8 * 1024 * 1024)
})

async function answeredTo(questions: readonly UserQuery[]): Promise<CallOutcome<{ answers: KnownTraits[] }>> {
  return { outcome: 'answered', answer: { answers: questions.map(() => KNOWN) } }
}
