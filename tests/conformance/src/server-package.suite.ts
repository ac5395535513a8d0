import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { CallItem, Nextvisit, NextvisitOptions } from '@nextvisit/client'
import { eventually, keyNamed, readUserEvents } from '@nextvisit/testing/black-box'
import { beforeAll, describe, expect, it } from 'vitest'
import { callerOf } from './call.ts'
import { product } from './product.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../../..')
const DEADLINE_MS = 90_000

/** Creates a client of the built package, as customers install it. */
async function givenClient(options: Partial<NextvisitOptions> = {}): Promise<Nextvisit> {
  const { createNextvisit } = await import('@nextvisit/client')
  return createNextvisit({
    host: product().gatewayUrl,
    key: keyNamed('SERVER_ADMIN_P'),
    deadlineMs: DEADLINE_MS,
    ...options,
  })
}

interface ExamplePackage {
  /** Scripts; the last word of `start` is the program. */
  readonly scripts: { readonly start: string }
}

interface LoggedEvent {
  readonly id: string
  readonly userName: string
  readonly step: unknown
}

/** Reads the events of a project in the order of each user's partition. Consumers drop a second record with the same id. */
async function loggedEvents(project: string): Promise<readonly LoggedEvent[]> {
  const records = await readUserEvents(product())
  const events = new Map<string, LoggedEvent>()
  for (const { value } of records) {
    if (value['type'] !== 'EventTracked' || value['organization'] !== 'servers' || value['project'] !== project)
      continue
    const { id, userName, properties } = value as { id: string; userName: string; properties?: { step?: unknown } }
    if (!events.has(id)) events.set(id, { id, userName, step: properties?.step })
  }
  return [...events.values()]
}

const recordIds = (events: readonly LoggedEvent[]) => events.map(({ id }) => id).toSorted()
const stepsOf = (events: readonly LoggedEvent[], userName: string) =>
  events.filter((event) => event.userName === userName).map(({ step }) => step)

/** Returns the record ids in the answers of tracked events. */
function idsIn(results: readonly { readonly status: number }[]): readonly string[] {
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set([202]))
  return results
    .map((result) => (result as { readonly status: number; readonly requestId: string }).requestId)
    .toSorted()
}

/**
 * Tests packages/client and examples/client: every answered call is in the log once, despite failures of the gateway
 * and Kafka.
 */
export function describeServerPackage(): void {
  describe('the package for servers', () => {
    beforeAll(async () => {
      await promisify(execFile)('npm', ['run', 'build'], { cwd: path.join(CHECKOUT, 'packages/client') })
    }, 60_000)

    it('answers thousands of calls while the gateway is killed: each is in the log once, in its user’s order', {
      timeout: 180_000,
    }, async () => {
      const nextvisit = await givenClient()
      const users = Array.from({ length: 300 }, (_, index) => `user-${index}`)
      const calls: Promise<{ readonly status: number }>[] = []
      const callAll = (steps: readonly number[]) => {
        for (const step of steps)
          for (const userName of users)
            calls.push(nextvisit.track({ userName, eventName: 'Step', properties: { step } }))
      }
      const identified = users.map((userName) => nextvisit.identify({ userName }))
      callAll([0, 1, 2])
      await Promise.race(calls)
      callAll([3, 4])
      product().kill('gateway', 'SIGKILL')
      callAll([5, 6])

      expect(new Set((await Promise.all(identified)).map(({ status }) => status))).toEqual(new Set([200]))
      const ids = idsIn(await Promise.all(calls))
      await nextvisit.close()
      const events = await loggedEvents('shop')
      expect(recordIds(events)).toEqual(ids)
      for (const userName of users) expect(stepsOf(events, userName)).toEqual([0, 1, 2, 3, 4, 5, 6])
    })

    it('closes with the unsent calls while Kafka is stopped; sent again, each is in the log once', {
      timeout: 180_000,
    }, async () => {
      const [closing, next] = [await givenClient(), await givenClient()]
      const users = Array.from({ length: 250 }, (_, index) => `late-${index}`)
      await Promise.all(users.map((userName) => closing.identify({ userName })))
      product().kill('kafka', 'SIGSTOP')
      const calls = [0, 1, 2, 3].flatMap((step) =>
        users.map((userName) => closing.track({ userName, eventName: 'Step', properties: { step } })),
      )
      const closed = closing.close({ withinMs: 1_000 })
      const { items } = (await closed.catch((error: unknown) => error)) as { readonly items: readonly CallItem[] }
      expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(items.map(() => 'rejected'))

      const again = items.flatMap((item) => (item.type === 'track' ? [next.track(item)] : []))
      const { identify } = callerOf('SERVER_ADMIN_P')
      await eventually(
        () => identify({ userName: 'nobody' }),
        ({ status }) => status === 503,
        DEADLINE_MS,
      )
      product().kill('kafka', 'SIGCONT')
      const ids = idsIn(await Promise.all(again))
      const events = (await loggedEvents('shop')).filter(({ userName }) => userName.startsWith('late-'))
      expect(recordIds(events)).toEqual(ids)
      for (const userName of users) expect(stepsOf(events, userName)).toEqual([0, 1, 2, 3])
      await next.close()
    })

    it('slows down to the rate of its key', async () => {
      const nextvisit = await givenClient({ key: keyNamed('SLOW_SERVER_ADMIN_P') })
      await nextvisit.identify({ userName: 'ada' })
      const calls = []
      for (let step = 0; step < 100; step += 1) {
        calls.push(nextvisit.track({ userName: 'ada', eventName: 'Step', properties: { step } }))
        if (step % 10 === 0) await sleep(15)
      }
      const ids = idsIn(await Promise.all(calls))
      const events = await loggedEvents('slow')
      expect(recordIds(events)).toEqual(ids)
      expect(events.map(({ step }) => step)).toEqual(calls.map((_, step) => step))
      await nextvisit.close()
    })

    it('works in the example: an order counts once, and nothing is lost when it ends', async () => {
      const folder = path.join(CHECKOUT, 'examples/client')
      const { scripts } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as ExamplePackage
      const example = spawn(process.execPath, [path.join(folder, scripts.start.split(' ').at(-1) ?? '')], {
        env: { PORT: '0', NEXTVISIT_URL: product().gatewayUrl, NEXTVISIT_ADMIN_KEY: keyNamed('SERVER_ADMIN_P') },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [line] = (await once(example.stdout, 'data')) as [Buffer]
      const url = /http\S+/.exec(line.toString())?.[0] ?? ''
      const ask = async (method: string, route: string) =>
        (await (await fetch(`${url}/${route}`, { method })).json()) as object
      expect(await ask('POST', 'sign-up?user=grace&plan=pro')).toEqual({ welcome: 'grace' })
      for (const total of ['12.5', '12.5'])
        expect(await ask('POST', `buy?user=grace&order=1&total=${total}`)).toEqual({ thanksFor: '1' })
      const orders = () => ask('GET', 'orders?user=grace')
      expect(await eventually(orders, (answer) => 'orders' in answer && answer.orders === 1, 20_000)).toEqual({
        orders: 1,
      })
      expect(await ask('POST', 'buy?user=grace&order=2&total=3')).toEqual({ thanksFor: '2' })
      const output = text(example.stdout)
      example.kill('SIGTERM')
      expect(await output).toContain('All events are sent')
      const nextvisit = await givenClient()
      const count = async () => {
        const user = await nextvisit.users.get('grace')
        return user.status === 200 ? user.events['checkout_completed']?.count : undefined
      }
      expect(await eventually(count, (orderCount) => orderCount === 2, 20_000)).toBe(2)
      await nextvisit.close()
    })
  })
}
