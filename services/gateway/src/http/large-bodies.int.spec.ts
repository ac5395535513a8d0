import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { answerRequestParts, KEY } from '../../test/answer-request-parts.ts'
import type { CheckedRequest, Route } from '../request/route.ts'
import { type AnswerRequestParts, createAnswerRequest } from './answer-request.ts'

const OK = { outcome: 'answered', status: 200, body: {} } as const
const LONG = 60_000

/** A route whose requests each take `workMs`; counts how many it works on at once. */
async function givenRoute(workMs: number, parts: Partial<AnswerRequestParts> = {}) {
  const working = { now: 0, most: 0 }
  const begun: { readonly request: CheckedRequest; readonly at: number }[] = []
  const handle: Route['handle'] = async (request) => {
    begun.push({ request, at: performance.now() })
    working.now += 1
    working.most = Math.max(working.most, working.now)
    await sleep(workMs)
    working.now -= 1
    return OK
  }
  const route: Route = { method: 'POST', pattern: '/test', keyKind: 'admin', maxBodyBytes: 512_000, handle }
  const answerRequest = createAnswerRequest(answerRequestParts(parts))
  const server = createServer(
    (request, response) => void answerRequest(route, new URLSearchParams(), request, response),
  )
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const headers = { 'content-type': 'application/json', 'x-api-key': KEY }
  /** The status of a request whose body has so many bytes. */
  const send = async (bytes: number): Promise<number> => {
    const body = JSON.stringify({ note: 'x'.repeat(bytes - JSON.stringify({ note: '' }).length) })
    const { status } = await fetch(url, { method: 'POST', headers, body })
    return status
  }
  const sendMany = (count: number, bytes: number) => Promise.all(Array.from({ length: count }, () => send(bytes)))
  return { working, begun, send, sendMany }
}

describe('large bodies of one key (decisions.md, Busy and broken)', () => {
  it('are worked on for 192 KiB at once, and all are answered', async () => {
    const { working, sendMany } = await givenRoute(120, { requestBudgetMs: LONG })
    expect(new Set(await sendMany(60, 32_768))).toEqual(new Set([200]))
    // Six, and six more for each time that a busy machine lets these take long.
    expect(working.most).toBeLessThan(30)
  })

  it('need no turn up to 8 KiB', async () => {
    const { working, sendMany } = await givenRoute(200, { requestBudgetMs: LONG })
    expect(new Set(await sendMany(60, 8_192))).toEqual(new Set([200]))
    expect(working.most).toBeGreaterThan(30)
  })

  it('are worked on one at a time where each is larger than that', async () => {
    const { working, sendMany } = await givenRoute(120, { requestBudgetMs: LONG })
    expect(new Set(await sendMany(12, 400_000))).toEqual(new Set([200]))
    expect(working.most).toBeLessThan(6)
  })

  it('are refused where their turn does not come within half of the budget', async () => {
    const { sendMany } = await givenRoute(400, { requestBudgetMs: 200 })
    const statuses = await sendMany(3, 400_000)
    expect(statuses.filter((status) => status === 503)).toHaveLength(2)
    expect(statuses).toContain(200)
  })

  it('have what is left of their time once their turn has come, half of it for admission', async () => {
    const { begun, sendMany } = await givenRoute(LONG)
    void sendMany(2, 400_000).catch(() => undefined)
    await expect.poll(() => begun.length).toBe(2)
    const left = begun.map(({ request, at }) => request.deadlineAt - at)
    const leftForAdmission = begun.map(({ request, at }) => request.admissionDeadlineAt - at)
    // The second one began when the first had taken 250 ms.
    expect(left[1]).toBeLessThan(left[0] ?? 0)
    for (const [index, ms] of leftForAdmission.entries()) expect(ms).toBeLessThanOrEqual((left[index] ?? 0) / 2)
  })
})
