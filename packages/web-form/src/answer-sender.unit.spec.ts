import type { FormAnswer } from '@nextvisit/contracts/shown-form'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createAnswerSender } from './answer-sender.ts'

const OFFER = { offerId: 'offer-1', formId: 'nps', revision: 3, language: 'en' }
/** More than the time in which answers are gathered. */
const SOON_MS = 1_000

interface Sent {
  readonly answer: FormAnswer
  readonly resolve: (result?: unknown) => void
  readonly reject: (error: Error) => void
}
let sent: Sent[]
const send = (answer: FormAnswer) =>
  new Promise((resolve, reject) => {
    sent.push({ answer, resolve, reject })
  })
const sentAnswers = () => sent.map(({ answer }) => answer.answers)

beforeEach(() => {
  sent = []
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('partial answers', () => {
  it('are gathered into one request, which names the offer', async () => {
    const sender = createAnswerSender(OFFER, send)
    sender.sendPartial({ score: 1 })
    sender.sendPartial({ score: 2 })
    await vi.advanceTimersByTimeAsync(SOON_MS)
    expect(sent.map(({ answer }) => answer)).toEqual([{ ...OFFER, answers: { score: 2 }, status: 'partial' }])
  })

  it('wait for the answer to the request before', async () => {
    const sender = createAnswerSender(OFFER, send)
    sender.sendPartial({ score: 1 })
    await vi.advanceTimersByTimeAsync(SOON_MS)
    sender.sendPartial({ score: 2 })
    sender.sendPartial({ score: 3 })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sentAnswers()).toEqual([{ score: 1 }])
    sent[0]?.resolve()
    await vi.advanceTimersByTimeAsync(SOON_MS)
    expect(sentAnswers()).toEqual([{ score: 1 }, { score: 3 }])
  })

  it('are not sent if they are empty, or equal to those that were sent', async () => {
    const sender = createAnswerSender(OFFER, send)
    sender.sendPartial({})
    await vi.advanceTimersByTimeAsync(SOON_MS)
    sender.sendPartial({ score: 1 })
    await vi.advanceTimersByTimeAsync(SOON_MS)
    sent[0]?.resolve()
    sender.sendPartial({ score: 1 })
    await vi.advanceTimersByTimeAsync(SOON_MS)
    expect(sentAnswers()).toEqual([{ score: 1 }])
  })

  it.each([
    ['rejects', (one?: Sent) => one?.reject(new Error('away'))],
    ['is refused', (one?: Sent) => one?.resolve({ outcome: 'refused', status: 429 })],
  ])('are sent again with the next ones if their request %s', async (_how, fail) => {
    const sender = createAnswerSender(OFFER, send)
    sender.sendPartial({ score: 1 })
    await vi.advanceTimersByTimeAsync(SOON_MS)
    fail(sent[0])
    await vi.advanceTimersByTimeAsync(SOON_MS)
    sender.sendPartial({ score: 1 })
    await vi.advanceTimersByTimeAsync(SOON_MS)
    expect(sentAnswers()).toEqual([{ score: 1 }, { score: 1 }])
  })

  it('are sent at once when the page is left, also during another request', async () => {
    const sender = createAnswerSender(OFFER, send)
    sender.sendPartial({ score: 1 })
    sender.flush()
    sender.sendPartial({ score: 2 })
    sender.flush()
    expect(sentAnswers()).toEqual([{ score: 1 }, { score: 2 }])
  })
})

describe('the end', () => {
  it('replaces waiting partial answers', async () => {
    const sender = createAnswerSender(OFFER, send)
    sender.sendPartial({ score: 1 })
    const ended = sender.end('finished', { score: 1, why: 'Fast' })
    sent[0]?.resolve({ outcome: 'answered' })
    await expect(ended).resolves.toBe(undefined)
    await vi.advanceTimersByTimeAsync(SOON_MS)
    expect(sent.map(({ answer }) => answer)).toEqual([
      { ...OFFER, answers: { score: 1, why: 'Fast' }, status: 'finished' },
    ])
  })

  it.each([
    ['a rejected request', (one?: Sent) => one?.reject(new Error('away'))],
    ['a refusal', (one?: Sent) => one?.resolve({ outcome: 'refused', status: 404 })],
    ['no answer', (one?: Sent) => one?.resolve({ outcome: 'unanswered', reason: 'closed' })],
  ])('rejects after %s', async (_what, fail) => {
    const ended = createAnswerSender(OFFER, send).end('finished', {})
    fail(sent[0])
    await expect(ended).rejects.toThrow(/away|not accepted/)
  })
})
