import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { parseEnv } from 'node:util'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { type Db, sql } from '@nextvisit/database'
import { publishCompressed, spaces } from '@nextvisit/log/test/publish-compressed.ts'
import { compiledCode } from '@nextvisit/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { givenEvents, type GivenLog, givenLog, partitionOf } from '../../test/given-log.ts'
import { givenVisitsDatabase } from '../../test/given-visits.ts'
import { countVisits } from '../../test/visits-projection.ts'
import { requestSetAside } from '../dead-letters/request-set-aside.ts'

const PROGRAM = path.join(import.meta.dirname, '../../test/fold-log.fixture.ts')
const LIMITS = parseEnv(readFileSync(path.join(import.meta.dirname, '../../../../infra/service.env'), 'utf8'))
const MIB = 1024 * 1024
/** Without a budget, each of these logs takes more than two GB, or ends the process. */
const MOST_KB = 640 * 1024
const soon = { timeout: 150_000 }

const ADA = partitionOf('ada')
const others = Array.from({ length: 50 }, (_, index) => `user-${index}`).filter((name) => partitionOf(name) !== ADA)
const ofOthers = (count: number) => givenEvents(count, (index) => others[index % others.length] ?? '')
const ofAda = (eventName: string) => eventTracked({ userName: 'ada', eventName })

/** Folds a log in a process with the memory limits of the services, until the test ends. */
function foldWithLimits({ topic, connection }: GivenLog, databaseUrl: string) {
  const [broker = ''] = connection.brokers
  const child = spawn(process.execPath, [PROGRAM, broker, topic, databaseUrl], {
    env: { ...LIMITS, ...compiledCode() },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let mostKb = 0
  createInterface(child.stdout).on('line', (line) => (mostKb = Math.max(mostKb, Number(line))))
  return { mostKb: () => mostKb, ended: () => child.exitCode ?? child.signalCode }
}

async function given() {
  const log = await givenLog()
  const { db, url } = await givenVisitsDatabase()
  const place = { topic: log.topic, partition: ADA }
  return { log, db, url, place, publish: publishCompressed.bind(undefined, log.connection, place) }
}

/** Sets aside each batch at which a partition halts, until this many visits are counted. */
async function setAsideUntil(db: Db, topic: string, visits: number): Promise<number> {
  const offsets = new Set<string>()
  await expect
    .poll(async () => {
      const halts = await db.$queryRaw<{ partition: number; offset: string }[]>(sql`
        SELECT partition, "offset"::text AS offset FROM partition_alarms AS alarm
        WHERE kind = 'halted' AND set_aside_at IS NULL
          AND "offset" >= (SELECT next_offset FROM checkpoints WHERE checkpoints.partition = alarm.partition)`)
      for (const { partition, offset } of halts) {
        await requestSetAside(db, 'visits', { topic, partition, offset }, 'ops')
        offsets.add(offset)
      }
      return countVisits(db)
    }, soon)
    .toBe(visits)
  return offsets.size
}

describe('a process with the memory limits of a service', { timeout: 180_000 }, () => {
  it('survives a dozen small batches with records of 60 MB, and folds the records after them once they are set aside', async () => {
    const { log, db, url, publish } = await given()
    await log.publish([ofAda('Fine'), ...ofOthers(30)])
    await publish({ records: 1, value: spaces(60 * MIB) }, 12)
    await log.publish([ofAda('Later')])
    const folding = foldWithLimits(log, url)
    await expect.poll(() => countVisits(db), soon).toBe(31)
    expect(await setAsideUntil(db, log.topic, 32)).toBe(12)
    expect(folding.ended()).toBeNull()
    expect(folding.mostKb()).toBeLessThan(MOST_KB)
  })

  it('survives many batches of the largest size that is decoded', async () => {
    const { log, db, url, publish } = await given()
    await publish({ records: 1, value: spaces(15 * MIB) }, 12)
    await publish({ records: 15, value: spaces(MIB - 100) }, 2)
    await publish({ records: 10_000, value: spaces(1_500) })
    // Each takes twenty times as much memory once it is parsed.
    const arrays = Array.from({ length: 12 }, () => `[${'{},'.repeat(300_000)}{}]`)
    await log.publish([ofAda('Later'), ...ofOthers(30)], arrays)
    const folding = foldWithLimits(log, url)
    await expect.poll(() => countVisits(db), soon).toBe(31)
    expect(folding.ended()).toBeNull()
    expect(folding.mostKb()).toBeLessThan(MOST_KB)
  })
})
