import { randomUUID } from 'node:crypto'
import { answerDeadLetters } from '@nextvisit/consumer'
import { givenConsumerDb, givenDeadLetters } from '@nextvisit/consumer/test/given-dead-letters.ts'
import { deadLetterCalls } from '@nextvisit/contracts'
import { sql } from '@nextvisit/database'
import { createLocalClient } from '@nextvisit/service-kit'
import { expect, it } from 'vitest'
import { createPersonWriter } from './person-writer.ts'
import { type ConsumerClient, writeConsumer } from './read-services.ts'

it('skips a dead letter that is removed after it was listed, or erased, and writes the others', async () => {
  const person = { organization: 'acme', project: 'shop', userName: 'ada', userId: randomUUID() }
  const db = await givenConsumerDb()
  await givenDeadLetters(db, [{ reason: 'first' }, { reason: 'removed' }, { reason: 'erased' }, { reason: 'last' }])
  await db.$executeRaw(sql`UPDATE dead_letters SET key = convert_to(${person.userId}, 'UTF8')`)
  const asks = createLocalClient(deadLetterCalls, answerDeadLetters('visits', db))
  const consumer: ConsumerClient = {
    ...asks,
    readUserRows: async () => ({ outcome: 'answered', answer: { rows: [], next: null } }),
    listOfKey: async (asked) => {
      const listed = await asks.listOfKey(asked)
      await db.$executeRaw(sql`DELETE FROM dead_letters WHERE reason = 'removed'`)
      return listed
    },
  }
  let text = ''
  const write = async (lines: string) => void (text += lines)
  const writer = createPersonWriter({ person, sources: ['visits'], exportedAt: '2026-11-02T10:00:00.000Z', write })
  await writeConsumer('visits', consumer, { person, writer, isErased: ({ offset }) => offset === '2' })
  const [, ...lines] = text.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ cause: 'first' }, { cause: 'last' }])
  expect(writer.missing()).toEqual([])
})
