import { setTimeout as sleep } from 'node:timers/promises'
import { expect, describe, it } from 'vitest'
import { givenErasures, startWork } from '../../test/given-work.ts'

const PATIENT = { timeout: 20_000 }
/** Before the stores, before the keys, and before their rotation. */
const OWNER_ASKED_A_ROUND = 3

describe("the eraser's work", { timeout: 60_000 }, () => {
  it('asks one question of Postgres a round, and none of Kafka, while no erasure runs', async () => {
    const given = await givenErasures()
    const { asked } = await startWork(given)
    await expect.poll(() => asked.marks, PATIENT).toBe(1)
    await sleep(500)
    asked.statements.length = 0
    const before = asked.owner
    const rounds = () => (asked.owner - before) / OWNER_ASKED_A_ROUND
    await expect.poll(rounds, PATIENT).toBeGreaterThan(30)
    expect(new Set(asked.statements).size).toBe(1)
    expect(asked.statements.length).toBeLessThan(1.5 * rounds())
    expect(asked.marks).toBe(1)
  })

  it('settles the keys of the installation again once it has lost and regained the work', async () => {
    const given = await givenErasures()
    let isOwner = true
    const { asked } = await startWork(given, { owns: () => isOwner })
    const settlings = () => asked.statements.filter((text) => text.includes('INSERT INTO installation_keys')).length
    const questions = () => asked.statements.filter((text) => text.includes('"installation_keys"')).length
    await expect.poll(settlings, PATIENT).toBe(1)
    isOwner = false
    await sleep(200)
    const before = questions()
    isOwner = true
    await expect.poll(questions, PATIENT).toBe(before + 1)
    expect(settlings()).toBe(1)
  })
})
