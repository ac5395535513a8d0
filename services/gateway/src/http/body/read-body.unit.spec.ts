import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, it, vi } from 'vitest'
import { createBodyBudget } from './body-budget.ts'
import { readBody } from './read-body.ts'
import { createTurnsByKey } from '../turns/turns-by-key.ts'

const MAX_BYTES = 512_000
const LONG = 60_000

afterEach(() => void vi.useRealTimers())

/** Bodies in pieces that never end. */
function givenPieces() {
  const open = createBodyBudget({ maxBytes: 100 * MAX_BYTES, maxUnfinishedPerKey: 1_000 })
  return {
    read: async (pieces: readonly Buffer[]) => {
      const permit = open('key', true)
      if (!permit) throw new Error('there is no limit to unfinished bodies here')
      const coming = new Readable({ read: () => {} })
      for (const piece of pieces) coming.push(piece)
      const request = Object.assign(coming, { headers: {}, complete: false }) as unknown as IncomingMessage
      const dueAt = performance.now() + LONG
      const read = await readBody(request, { permit, maxBytes: MAX_BYTES, dueAt, inTurn: (inflating) => inflating() })
      permit.release()
      return read.outcome === 'refused' ? read.status : read.outcome
    },
  }
}

const bomb = gzipSync(Buffer.alloc(511_000, ' '))

/** Bodies of one key under a budget. `mostHeld`: the most bytes that they held at any time. */
function givenBudget(maxBytes: number, atOnce = 8) {
  const open = createBodyBudget({ maxBytes, maxUnfinishedPerKey: 1_000 })
  const turns = createTurnsByKey({ atOnce, heldForMs: LONG, withinMs: LONG })
  const seen = { held: 0, mostHeld: 0 }
  return {
    seen,
    read: async (body: Buffer) => {
      const permit = open('key', true)
      if (!permit) throw new Error('there is no limit to unfinished bodies here')
      let held = 0
      const take = (bytes: number) => {
        const isTaken = permit.take(bytes)
        if (isTaken) held += bytes
        if (isTaken) seen.held += bytes
        seen.mostHeld = Math.max(seen.mostHeld, seen.held)
        return isTaken
      }
      const request = Object.assign(Readable.from([body]), { headers: { 'content-encoding': 'gzip' }, complete: true })
      const read = await readBody(request as unknown as IncomingMessage, {
        permit: { ...permit, take },
        maxBytes: MAX_BYTES,
        dueAt: performance.now() + LONG,
        inTurn: (inflating) => turns('key', inflating),
      })
      permit.release()
      seen.held -= held
      return read.outcome === 'refused' ? read.status : read.outcome
    },
  }
}

it('the inflated bytes of a body count while it inflates, and it stops if there is no room', async () => {
  const { read, seen } = givenBudget(500_000)
  expect(await read(bomb)).toBe(503)
  // A key may hold a fifth of an empty budget.
  expect(seen.mostHeld).toBeGreaterThan(50_000)
  expect(seen.mostHeld).toBeLessThanOrEqual(100_000)
})

it('a few bodies of a key inflate at once; the others hold only the bytes that were sent', async () => {
  const { read, seen } = givenBudget(67_108_864, 2)
  const outcomes = await Promise.all(Array.from({ length: 40 }, () => read(bomb)))
  expect(new Set(outcomes)).toEqual(new Set(['ok']))
  expect(seen.mostHeld).toBeGreaterThan(511_000)
  expect(seen.mostHeld).toBeLessThanOrEqual(2 * 511_000 + 40 * bomb.length)
})

it('gzip in several members is accepted; truncated and too large bodies are refused', async () => {
  const { read } = givenBudget(67_108_864)
  const large = gzipSync(Buffer.alloc(300_000))
  expect(await read(Buffer.concat([gzipSync('{'), gzipSync('}')]))).toBe('ok')
  expect(await read(bomb.subarray(0, -9))).toBe(400)
  expect(await read(Buffer.from('not gzip'))).toBe(400)
  expect(await read(Buffer.concat([large, large]))).toBe(413)
  expect(await read(gzipSync(Buffer.alloc(50_000_000)))).toBe(413)
})

it('a body that ends within its turn of the event loop leaves no timer behind', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { read } = givenPieces()
  expect(await read([Buffer.alloc(MAX_BYTES), Buffer.alloc(1)])).toBe(413)
  await nextTurn()
  await nextTurn()
  expect(vi.getTimerCount()).toBe(0)
})
