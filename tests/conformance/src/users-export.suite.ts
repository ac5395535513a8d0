import { runNextvisit } from '@nextvisit/cli/test/run-nextvisit.ts'
import { TOPICS } from '@nextvisit/contracts'
import { eventually, withProducer } from '@nextvisit/testing/black-box'
import { describe, expect, it } from 'vitest'
import { callerOf } from './call.ts'
import { product } from './product.ts'

const { identify, track, visit } = callerOf('MAIN_JOB_ADMIN_P', 'MAIN_JOB_SDK_P')

async function runExport(...args: readonly string[]) {
  const env = { NEXTVISIT_DATA: product().dataDirectory }
  const { exitCode, stdout, stderr } = await runNextvisit(['users', 'export', '--project', ...args], env)
  const lines = stdout.split('\n').slice(0, -1)
  return { exitCode, stdout, stderr, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) }
}

/** Tests the right of access: everything known about a person. */
export function describeUsersExport(): void {
  describe('nextvisit users export', () => {
    it('writes the profile, every record, forms, dead letters and refusals of a person', async () => {
      const identified = await identify({
        userName: 'kim',
        userAttributes: { $set: { plan: 'pro', colour: 'kim-red' } },
      })
      const key = String(identified.body['userId'])
      const tracked = { eventName: 'Checkout Completed', properties: { coupon: 'kim-coupon' } }
      expect(await track({ userName: 'kim', ...tracked })).toMatchObject({ status: 202 })
      await visit({ userName: 'kim', $deviceInfo: { $browser: 'kim-browser' } })
      expect(await track({ userName: 'kim', eventName: 'form:not-allowed' })).toMatchObject({ status: 400 })
      await withProducer(product(), (producer) =>
        producer.send({ topic: TOPICS.userEvents, messages: [{ key, value: '{"type":"kim-poison"}' }] }),
      )
      const counts = {
        profile: 2,
        'event-count': 2,
        'queued-form': 1,
        'shown-form': 1,
        decision: 1,
        'active-month': 1,
        'dead-letter': 4,
        refusal: 1,
      }
      const { exitCode, stdout, stderr, lines } = await eventually(
        () => runExport('main-job/shop', '--user', 'kim'),
        (ended) => {
          const summary = ended.lines.at(-1)?.['counts'] as Record<string, unknown> | undefined
          // Consumers of form-events may not have read the last records yet. The export says so.
          return ended.exitCode === 0 && Object.entries(counts).every(([type, count]) => summary?.[type] === count)
        },
        30_000,
        1_000,
      )
      expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/^Wrote \d+ lines in [\d.]+ s\.\n$/)])
      expect(lines[0]).toMatchObject({ type: 'export', userName: 'kim', userId: key })
      for (const word of ['red', 'coupon', 'browser', 'poison']) expect(stdout).toContain(`kim-${word}`)
      const records = lines.filter(({ type }) => type === 'record')
      expect(records.map(({ value }) => (value as { type?: string } | null)?.type)).toEqual([
        'IdentifyRequested',
        'EventTracked',
        'IdentifyRequested',
        'VisitAnswered',
        'kim-poison',
        'FormQueued',
        'FormDelivered',
      ])
      expect(stdout).not.toContain('"ada"')
      const byId = await runExport('main-job/shop', '--user-id', key)
      expect(byId.lines[0]).toMatchObject({ userName: 'kim', userId: key })
    })

    it.each([
      [
        ['main-job/shop', '--user', 'nobody-at-all'],
        1,
        /Nothing is known about nobody-at-all in main-job\/shop.*To search/,
      ],
      [
        ['main-job/shop', '--user-id', '018f0000-0000-7000-8000-000000000000'],
        1,
        /Nothing is known about 018f0000-\S+ in main-job\/shop. A userId belongs to one project. To search/,
      ],
      [['main-job/shopp', '--user', 'kim'], 2, /There is no project main-job\/shopp/],
      [['main-job/shop'], 2, /--user or by --user-id/],
      [['main-job/shop', '--user', ' '], 2, /--user: userName must/],
      [['main-job/shop', '--user-id', 'kim'], 2, /must be a UUID/],
    ])('%j exits with %i, and writes nothing', async (args, exitCode, message) => {
      expect(await runExport(...args)).toMatchObject({ exitCode, stdout: '', stderr: expect.stringMatching(message) })
    })
  })
}
