import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Form } from './forms.ts'
import { createNextvisit, type NextvisitOptions } from './nextvisit.ts'
import { userScope } from './user-scope.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const CLOSED = { outcome: 'unanswered', reason: 'closed' }

describe('a client without a page, such as on a server', () => {
  it.each([
    ['valid options', { key: 'nv_sdk_P_x', host: 'https://nextvisit.example.com', userName: 'ada' }],
    ['traits that are not JSON', { key: '', host: '', userName: '', traits: { total: 1n } }],
    ['nothing', {}],
  ])('with %s does nothing and throws nothing', async (_name, options) => {
    const nextvisit = createNextvisit(options as unknown as NextvisitOptions)
    const removeHandler = nextvisit.onForm(() => undefined)
    const answer = { offerId: 'o', formId: 'nps', answers: {}, status: 'dismissed' } as const
    expect([await nextvisit.visit(), await nextvisit.track('Looked'), await nextvisit.answer(answer)]).toEqual([
      CLOSED,
      CLOSED,
      CLOSED,
    ])
    removeHandler()
    nextvisit.close()
  })
})

describe('a stored form', () => {
  const offer = { offerId: 'o', formId: 'nps', revision: 3, language: 'de', content: { elements: [] } }

  it.each([
    ['is handed over to a handler', false],
    ['is not handed over after close: another user may be signed in', true],
  ])('%s', async (_title, isClosed) => {
    vi.useFakeTimers()
    vi.stubGlobal('document', { visibilityState: 'visible' })
    vi.stubGlobal('navigator', {})
    const name = `nextvisit:${userScope('nv_sdk_P_x', 'ada')}:form:k`
    const values: Record<string, string> = { [name]: `0.5 ${JSON.stringify(offer)}` }
    const getItem = (of: string) => values[of]
    const removeItem = (of: string) => delete values[of]
    vi.stubGlobal('localStorage', Object.assign(Object.create({ getItem, removeItem }), values))
    const nextvisit = createNextvisit({ key: 'nv_sdk_P_x', host: 'https://nextvisit.example.com', userName: 'ada' })
    if (isClosed) nextvisit.close()
    const handed: Form[] = []
    nextvisit.onForm((form) => handed.push(form))
    await vi.advanceTimersByTimeAsync(499)
    expect(handed).toEqual([])
    await vi.runAllTimersAsync()
    const form = { ...offer, feedbackId: 'nps', answer: expect.any(Function) as unknown }
    expect(handed).toEqual(isClosed ? [] : [form])
  })
})

describe('a page that is hidden, and may be shown again', () => {
  it.each([
    ['sends what waits for its turn', 0, 2],
    ['keeps to the pause after a failure', 9, 0],
  ])('%s', async (_title, failures, sent) => {
    vi.useFakeTimers()
    const page = Object.assign(new EventTarget(), { hidden: true })
    vi.stubGlobal('document', page)
    vi.stubGlobal('location', { href: 'https://shop.example.com/' })
    vi.stubGlobal('navigator', {})
    vi.stubGlobal('navigation', new EventTarget())
    vi.stubGlobal('addEventListener', () => undefined)
    vi.stubGlobal('removeEventListener', () => undefined)
    const scope = `nextvisit:${userScope('nv_sdk_P_x', 'ada')}`
    const values: Record<string, string> = failures > 0 ? { [`${scope}:retry`]: `${Date.now()} 60000 ${failures}` } : {}
    const getItem = (of: string) => values[of]
    const setItem = (of: string, value: string) => void (values[of] = value)
    vi.stubGlobal('localStorage', { getItem, setItem, removeItem: (of: string) => delete values[of] })
    const urls: string[] = []
    vi.stubGlobal('fetch', (url: string) => {
      urls.push(url)
      return new Promise(() => {})
    })
    const nextvisit = createNextvisit({ key: 'nv_sdk_P_x', host: 'https://nextvisit.example.com', userName: 'ada' })
    for (const offerId of ['a', 'b'])
      void nextvisit.answer({ offerId, formId: 'nps', revision: 3, answers: { score: 9 }, status: 'finished' })
    await vi.advanceTimersByTimeAsync(100)
    const pause = values[`${scope}:retry`]
    for (let times = 0; times < 2; times += 1) page.dispatchEvent(new Event('visibilitychange'))
    await vi.advanceTimersByTimeAsync(100)
    expect(urls.filter((url) => url.endsWith('answers'))).toHaveLength(sent)
    expect(values[`${scope}:retry`]).toBe(pause)
    nextvisit.close()
  })
})
