import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Sql, sql, withClient } from '@nextvisit/database'
import { LIVE_STREAM } from '@nextvisit/domain'
import { describe, expect, it } from 'vitest'
import { PROJECT } from '../../test/given-catalog.ts'
import { givenSenders } from '../../test/given-sender.ts'
import { webhookDispatcher } from '../consumer.ts'
import { writeDeliveries } from '../new-deliveries.ts'
import type { Turn } from './due-turns.ts'
import { saveResults, type TurnResult } from './save-results.ts'

const given = givenSenders()
const LOCKED_MS = 150

/** A user whose only delivery is sent. */
async function givenSent() {
  const userId = randomUUID()
  const [deliveryId = ''] = await given.givenDeliveries([{ userId }])
  const turn: Turn = { ...PROJECT, endpointId: 'crm', replayId: LIVE_STREAM, userId, partition: 0 }
  const result: TurnResult = {
    turn,
    attempt: {
      deliveryId,
      at: new Date(),
      result: { outcome: 'delivered', httpStatus: 200, response: 'personal', durationMs: 1 },
      status: 'delivered',
      countsInRound: true,
    },
  }
  return { userId, save: () => given.db().executeAll(saveResults([result], [], new Date())) }
}

/** Runs statements of a fold as a transaction, and saves the result of a sender before it commits. */
async function whileFolding(statements: readonly Sql[], save: () => Promise<void>): Promise<void> {
  await withClient(given.databaseUrl(), async (client) => {
    await client.query(`SET search_path TO ${webhookDispatcher.schema}; BEGIN`)
    for (const { text, values } of statements) await client.query(text, [...values])
    const saved = save()
    await sleep(LOCKED_MS)
    await client.query('COMMIT')
    await saved
  })
}

describe('results that are saved while a fold writes rows of the same user', () => {
  it('keep the turn for its next delivery', async () => {
    const { userId, save } = await givenSent()
    const [sent] = await given.readDeliveries()
    if (!sent) throw new Error('The user has a delivery')
    const next = { ...sent, deliveryId: randomUUID(), webhookId: randomUUID(), sourceOffset: sent.sourceOffset + 1 }
    await whileFolding(writeDeliveries([next]), save)
    expect(await given.readTurns()).toMatchObject([{ userId }])
    expect((await given.readDeliveries()).map(({ status }) => status)).toEqual(['delivered', 'pending'])
  })

  it('leave nothing of a user who is erased', async () => {
    const { userId, save } = await givenSent()
    const ofUser = sql`WHERE user_id = ${userId}::uuid`
    await whileFolding(
      [
        sql`SELECT 1 FROM turns ${ofUser} FOR UPDATE`,
        sql`DELETE FROM attempts USING deliveries AS own ${ofUser} AND attempts.delivery_id = own.delivery_id`,
        sql`DELETE FROM deliveries ${ofUser}`,
        sql`DELETE FROM turns ${ofUser}`,
      ],
      save,
    )
    expect([await given.readDeliveries(), await given.readAttempts(), await given.readTurns()]).toEqual([[], [], []])
  })

  it('count once, also if a process that was replaced saves them again', async () => {
    const { save } = await givenSent()
    await save()
    await save()
    expect(await given.readAttempts()).toHaveLength(1)
    expect(await given.readDeliveries()).toMatchObject([{ status: 'delivered', attempts: 1 }])
  })
})

describe('what an attempt tells about an endpoint', () => {
  it('is nothing about one that was added again meanwhile', async () => {
    const endpoint = { ...PROJECT, endpointId: 'crm' }
    const at = new Date()
    const save = (addedAt: string, goneAt?: Date) =>
      given.db().executeAll(saveResults([], [{ ...endpoint, addedAt, failingSince: at, goneAt }], at))
    await save('2026-11-20T10:00:00.000Z')
    await save('2026-11-02T10:00:00.000Z', at)
    expect(await given.readHealth()).toMatchObject({ failingSince: at, disabledAt: null })
    await save('2026-11-21T10:00:00.000Z', at)
    expect(await given.readHealth()).toMatchObject({ disabledAt: at })
  })
})
