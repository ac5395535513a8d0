import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { answerRequestParts, givenRoute, KEY, SDK_KEY } from '../../../test/answer-request-parts.ts'
import { admissionBudgetMs, turnWithinMs } from '../request-budget.ts'
import type { CheckedRequest, Route } from '../route.ts'

const OK = { outcome: 'answered', status: 200, body: {} } as const
const PATIENT_BUDGET_MS = 60_000
/** Size of a body that leaves no room for another one. */
const HUGE = 400_000

interface RouteUnderTest extends Pick<Partial<Route>, 'keyKind'> {
  /** Duration of each request. Default: until the test ends. */
  readonly workMs?: number
  readonly requestBudgetMs?: number
}

/** A route that reports the requests in progress. */
async function givenWork({ workMs, requestBudgetMs = PATIENT_BUDGET_MS, keyKind = 'admin' }: RouteUnderTest) {
  const ended = new AbortController()
  const begun: { readonly request: CheckedRequest; readonly at: number; readonly atWallMs: number }[] = []
  const handle: Route['handle'] = async (request) => {
    begun.push({ request, at: performance.now(), atWallMs: Date.now() })
    await sleep(workMs ?? PATIENT_BUDGET_MS, undefined, { signal: ended.signal }).catch(() => undefined)
    return OK
  }
  const route: Route = { method: 'POST', pattern: '/test', keyKind, maxBodyBytes: 512_000, handle }
  const url = await givenRoute(route, answerRequestParts({ requestBudgetMs }))
  onTestFinished(() => ended.abort())
  const headers = { 'content-type': 'application/json', 'x-api-key': keyKind === 'sdk' ? SDK_KEY : KEY }
  /** Returns the status of a request with this number of bytes. */
  const send = async (bytes: number, signal?: AbortSignal): Promise<number> => {
    const body = JSON.stringify({ note: 'x'.repeat(bytes - JSON.stringify({ note: '' }).length) })
    const { status } = await fetch(url, { method: 'POST', headers, body, signal: signal ?? ended.signal })
    return status
  }
  const sendMany = (count: number, bytes: number) => Promise.all(Array.from({ length: count }, () => send(bytes)))
  return { begun, send, sendMany }
}

describe('large bodies of one key (decisions.md, Busy and broken)', () => {
  it.each([
    ['192 KiB at once', 32_768, 60, 6, 'admin'],
    ['192 KiB at once of a publishable key', 32_768, 60, 6, 'sdk'],
    ['one at once if it is larger than that', HUGE, 12, 1, 'admin'],
  ] as const)(
    'are handled in turns, %s; those without a turn in time are refused',
    async (_what, bytes, count, few, keyKind) => {
      // A turn ends after 250 ms; requests wait 150 ms for one. There are many, because a busy machine sends them over seconds.
      const { begun, sendMany } = await givenWork({ workMs: 1_000, requestBudgetMs: 400, keyKind })
      const statuses = await sendMany(count, bytes)
      expect(begun.length).toBeGreaterThanOrEqual(few)
      expect(begun.length).toBeLessThan(count)
      expect(statuses.filter((status) => status === 200)).toHaveLength(begun.length)
      expect(statuses.filter((status) => status === 503)).toHaveLength(count - begun.length)
    },
  )

  it('are all answered if their turns come in time', async () => {
    const { sendMany } = await givenWork({ workMs: 20 })
    expect(new Set(await sendMany(40, 32_768))).toEqual(new Set([200]))
  })

  it.each(['admin', 'sdk'] as const)('need no turn up to 8 KiB (%s)', async (keyKind) => {
    const { sendMany } = await givenWork({ workMs: 1_000, requestBudgetMs: 400, keyKind })
    expect(new Set(await sendMany(40, 8_192))).toEqual(new Set([200]))
  })

  it('have their time of arrival, and wait at the cost of their budget, but not of their time for admission', async () => {
    const { begun, sendMany } = await givenWork({})
    // They start one after the other. There are many, because a busy machine sends them over seconds.
    void sendMany(12, HUGE).catch(() => undefined)
    await expect.poll(() => begun.length).toBe(12)
    const waited = begun.map(({ request, at, atWallMs }) => ({
      waitedMs: PATIENT_BUDGET_MS - (request.deadlineAt - at),
      receivedMsBefore: atWallMs - request.receivedMs,
      admissionMs: request.admissionDeadlineAt - at,
    }))
    const longest = waited.reduce((one, other) => (one.waitedMs > other.waitedMs ? one : other))
    expect(longest.waitedMs).toBeGreaterThan(250)
    expect(longest.receivedMsBefore).toBeGreaterThan(longest.waitedMs / 2)
    expect(longest.admissionMs).toBeGreaterThan(admissionBudgetMs(PATIENT_BUDGET_MS) - longest.waitedMs / 2)
  })

  it('are dropped if their caller has left meanwhile', async () => {
    const { begun, send, sendMany } = await givenWork({})
    const leaving = new AbortController()
    void sendMany(3, HUGE).catch(() => undefined)
    await expect.poll(() => begun.length).toBe(1)
    const left = send(HUGE - 1, leaving.signal).catch(() => 'left')
    await sleep(50)
    leaving.abort()
    expect(await left).toBe('left')
    void send(HUGE - 2).catch(() => undefined)
    await expect.poll(() => begun.length).toBe(4)
    const lengths = begun.map(({ request }) => JSON.stringify(request.body).length)
    expect(lengths).toEqual([HUGE, HUGE, HUGE, HUGE - 2])
  })
})

it('a large body has all of its time for admission once its turn has come, and some for publishing', () => {
  for (const requestBudgetMs of [200, 2_000, 5_000]) {
    const left = requestBudgetMs - turnWithinMs(requestBudgetMs).largeBody
    expect(left - admissionBudgetMs(requestBudgetMs)).toBeGreaterThanOrEqual(requestBudgetMs / 8)
  }
})
