import {
  answerGiven,
  eventTracked,
  formAnswered,
  identifyRequested,
  segmentEntered,
} from '@nextvisit/contracts/fixtures'
import { userIdOf } from '@nextvisit/domain'
import { readLog } from '@nextvisit/log'
import { describe, expect, it } from 'vitest'
import { givenSealedLog, SECRET_ENV } from '../../test/given-sealed-log.ts'
import { exportTopic } from '../export/export-topic.ts'
import { showTopic } from './show-topic.ts'

const userOf = (userName: string) => ({ userName, userId: userIdOf('acme', 'shop', userName) })
const identify = (userName: string) =>
  identifyRequested({ ...userOf(userName), operations: { set: { plan: `${userName}-plan` } } })
const event = (userName: string) => eventTracked({ ...userOf(userName), properties: { coupon: `${userName}-coupon` } })

const entered = (causeOffset: number) => segmentEntered({ ...userOf('ada'), causeOffset })
const decision = (id: string) => ({ ...userOf('ada'), type: 'FormCancelled', id })

/** Exports a topic. Returns its lines, their text and the numbers of records that were left out or stay sealed. */
async function exported(
  { connection, topics }: Awaited<ReturnType<typeof givenSealedLog>>,
  { of = 'userEvents' as 'userEvents' | 'formEvents', env = SECRET_ENV as Record<string, string> } = {},
) {
  const counts = { erased: 0, closed: 0 }
  const showPartition = await showTopic({
    connection,
    of,
    topics,
    env,
    onErased: () => void (counts.erased += 1),
    onClosed: () => void (counts.closed += 1),
  })
  let text = ''
  await exportTopic({
    connection,
    topic: topics[of],
    showPartition,
    write: async (lines) => void (text += lines),
    onUndecodable: ({ message }) => expect.unreachable(message),
    onProgress: () => {},
  })
  const values = text.split('\n').slice(0, -1)
  return { ...counts, text, values: values.map((line) => (JSON.parse(line) as { value: unknown }).value) }
}

describe('an export of user-events', () => {
  it('opens the records of users that exist', async () => {
    const log = await givenSealedLog()
    const [ada, bought] = [identify('ada'), event('ada')]
    for (const fact of [ada, bought]) await log.record(fact)
    const { values, ...counts } = await exported(log)
    expect(values).toEqual([ada, bought])
    expect(counts).toMatchObject({ erased: 0, closed: 0 })
  })

  it('contains nothing of an erased user, whatever keys there are, and the records after the erasure', async () => {
    const log = await givenSealedLog()
    for (const name of ['ada', 'bob']) for (const fact of [identify(name), event(name)]) await log.record(fact)
    const { userId } = userOf('ada')
    await log.publish(log.topics.userEvents, { key: userId, value: '{"poison":"ada-poison"' })
    const destroyed = await log.erase(identify('ada'))
    const again = identify('ada')
    await log.record(again)
    const bobs = 2
    const first = await exported(log)
    expect(first.text).not.toMatch(/ada-coupon|ada-poison/)
    expect(first.values).toHaveLength(bobs + ['UserErased', again].length)
    expect(first.values).toContainEqual(again)
    expect(first).toMatchObject({ erased: 3, closed: 0 })
    await log.publishKey(destroyed)
    expect((await exported(log)).text).toBe(first.text)
  })

  it('leaves out a record in flight that an older key sealed', async () => {
    const log = await givenSealedLog()
    const late = await givenSealedBy(log, 'ada')
    await log.erase(identify('ada'))
    await log.publish(log.topics.userEvents, late)
    const { text, erased } = await exported(log)
    expect(text).not.toContain(late.value)
    expect(erased).toBe(2)
  })

  it('keeps members sealed whose key is missing, or which were moved', async () => {
    const log = await givenSealedLog()
    const { value, headers, key } = await givenSealedBy(log, 'ada')
    const moved = JSON.stringify({ ...(JSON.parse(value) as object), id: event('bob').id })
    await log.publish(log.topics.userEvents, { key, value: moved, headers })
    const { values, closed, text } = await exported(log)
    expect(values[1]).toMatchObject({ sealed: { key: expect.any(String) } })
    expect([values.length, closed, text.match(/ada-plan/g)?.length]).toEqual([2, 1, 1])
  })

  it('needs NEXTVISIT_SECRET_KEY, and names a key that it lacks', async () => {
    const log = await givenSealedLog()
    expect((await exported(log, { env: {} })).values).toEqual([])
    await log.record(identify('ada'))
    await expect(exported(log, { env: {} })).rejects.toThrow(/NEXTVISIT_SECRET_KEY is not set.*secrets\.json/)
    const other = { NEXTVISIT_SECRET_KEY: 'cd'.repeat(32) }
    await expect(exported(log, { env: other })).rejects.toThrow(/NEXTVISIT_SECRET_KEY lacks the key [0-9a-f]{16}/)
    const rotated = { NEXTVISIT_SECRET_KEY: `${other.NEXTVISIT_SECRET_KEY},${SECRET_ENV.NEXTVISIT_SECRET_KEY}` }
    expect((await exported(log, { env: rotated })).text).toContain('ada-plan')
  })
})

it('an export of form-events leaves out the decisions before the end of an erased queue', async () => {
  const log = await givenSealedLog()
  await log.record(decision(event('ada').id), log.topics.formEvents)
  await log.erase(identify('ada'))
  const after = decision(event('ada').id)
  await log.record(after, log.topics.formEvents)
  const { values, erased } = await exported(log, { of: 'formEvents', env: {} })
  expect(values).toMatchObject([{ type: 'QueueErased' }, { id: after.id }])
  expect(erased).toBe(1)
})

it('an export of form-events leaves out memberships from before an erasure, wherever they are, and no later one', async () => {
  const log = await givenSealedLog()
  const [before, early, late, after] = [entered(4), entered(6), entered(4), entered(6)]
  for (const fact of [before, early]) await log.record(fact, log.topics.formEvents)
  await log.erase(identify('ada'), { causeOffset: 5 })
  for (const fact of [late, after]) await log.record(fact, log.topics.formEvents)
  const { values, erased } = await exported(log, { of: 'formEvents', env: {} })
  expect(values).toEqual([early, expect.objectContaining({ type: 'QueueErased' }), after])
  expect(erased).toBe(2)
})

it('an export of form-events opens answers, and needs NEXTVISIT_SECRET_KEY only if there are some', async () => {
  const log = await givenSealedLog()
  const { userId } = userOf('ada')
  const answered = formAnswered(answerGiven({ userId, answers: { reason: 'ada-reason' } }))
  await log.record(decision(event('ada').id), log.topics.formEvents)
  expect((await exported(log, { of: 'formEvents', env: {} })).values).toHaveLength(1)
  await log.record(answered, log.topics.formEvents)
  await expect(exported(log, { of: 'formEvents', env: {} })).rejects.toThrow(/NEXTVISIT_SECRET_KEY is not set/)
  expect((await exported(log, { of: 'formEvents' })).values[1]).toEqual(answered)
  await log.erase(identify('ada'))
  expect((await exported(log, { of: 'formEvents' })).text).not.toContain('ada-reason')
})

/** Publishes an identify of a user, and returns it as it is in the log. */
async function givenSealedBy(log: Awaited<ReturnType<typeof givenSealedLog>>, userName: string) {
  await log.record(identify(userName))
  const found: { key: string; value: string; headers: Readonly<Record<string, string>> }[] = []
  const from = new Map([0, 1, 2].map((partition) => [partition, 0n]))
  await readLog(log.connection, {
    topic: log.topics.userEvents,
    from,
    until: 'end',
    onBatch: ({ records }) => {
      for (const { key, value, headers } of records) found.push({ key: String(key), value: String(value), headers })
    },
  })
  const [first] = found
  if (!first) throw new Error('The log is empty')
  return first
}
