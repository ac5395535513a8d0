import { afterEach, describe, expect, it, vi } from 'vitest'
import { createSavedOffer, unfinishedOffers } from './saved-offer.ts'

/** Replaces `sessionStorage`: its members are its values. */
function givenStorage(values: Record<string, string>): void {
  const operations = {
    getItem: (key: string) => values[key] ?? null,
    setItem: (key: string, value: string) => (values[key] = value),
    removeItem: (key: string) => delete values[key],
  }
  vi.stubGlobal('sessionStorage', new Proxy(values, { get: (_, name) => Reflect.get(operations, name) }))
}
afterEach(() => {
  vi.unstubAllGlobals()
})
const offerOf = (offerId: string, revision = 3) => ({ offerId, formId: 'nps', revision })

describe.each(['kept', 'blocked'] as const)('answers, with a storage that is %s', (state) => {
  it('are those of one offer and revision, until they are removed', () => {
    // Node has no `sessionStorage`, like a page that blocks it.
    if (state === 'kept') givenStorage({})
    const saved = createSavedOffer(offerOf('a'))
    expect(saved.read()).toEqual({})
    saved.write({ score: 1, plan: { other: 'C' } })
    expect(createSavedOffer(offerOf('a')).read()).toEqual({ score: 1, plan: { other: 'C' } })
    expect(createSavedOffer(offerOf('a', 4)).read()).toEqual({})
    expect(createSavedOffer(offerOf('b')).read()).toEqual({})
    saved.remove()
    expect(saved.read()).toEqual({})
  })
})

describe('unfinished offers', () => {
  it('are those of this tab that are not removed', () => {
    givenStorage({ other: '{}', 'nextvisit-form:foreign': '{"offer":' })
    createSavedOffer(offerOf('a')).write({})
    createSavedOffer(offerOf('b')).write({ score: 1 })
    createSavedOffer(offerOf('c')).write({})
    createSavedOffer(offerOf('a')).remove()
    expect(unfinishedOffers()).toEqual([offerOf('b'), offerOf('c')])
  })

  it('are those of one user, if the page tells users apart', () => {
    givenStorage({})
    createSavedOffer(offerOf('a'), 'nextvisit:ada:').write({ score: 1 })
    createSavedOffer(offerOf('b'), 'nextvisit:bob:').write({})
    createSavedOffer(offerOf('c')).write({})
    expect(unfinishedOffers('nextvisit:ada:')).toEqual([offerOf('a')])
    expect(unfinishedOffers('nextvisit:bob:')).toEqual([offerOf('b')])
    expect(unfinishedOffers()).toEqual([offerOf('c')])
    expect(createSavedOffer(offerOf('a'), 'nextvisit:bob:').read()).toEqual({})
  })

  it('without storage are those of this page', () => {
    expect(unfinishedOffers()).toEqual([])
    const saved = createSavedOffer(offerOf('a'))
    saved.write({})
    expect(unfinishedOffers()).toEqual([offerOf('a')])
    saved.remove()
    expect(unfinishedOffers()).toEqual([])
  })
})

it.each(['', '{', 'null', '7', '{"offer":{"revision":3}}', '[]', '{"offer":null}'])(
  'reads no answers from the foreign value %j',
  (value) => {
    givenStorage({ 'nextvisit-form:offer': value })
    expect(createSavedOffer(offerOf('offer')).read()).toEqual({})
  },
)
