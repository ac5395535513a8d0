import { describe, expect, it } from 'vitest'
import { createCatalogReview } from './catalog-review.ts'
import { staticCatalog } from '../test/static-catalog.ts'

function givenCatalog() {
  const listeners: ((organization: string) => void)[] = []
  const catalog = { ...staticCatalog([]), onChange: (listener: (typeof listeners)[0]) => void listeners.push(listener) }
  return { catalog, change: (organization: string) => listeners.forEach((listener) => listener(organization)) }
}

/** A review of partition 3, and a function that changes its catalog. */
function givenReview() {
  const { catalog, change } = givenCatalog()
  const review = createCatalogReview()
  return { change, ...review, begin: () => review.begin(catalog, [3], 1n) }
}

/** The same, after partition 3 was compared in full. */
function givenSettled() {
  const review = givenReview()
  review.begin()
  review.endComparison(review.beginTick(3), [])
  return review
}

const WHOLE = [{ partition: 3, organization: undefined }]
const NOTHING = { scopes: [], needTick: [] }
const of = (...organizations: string[]) => organizations.map((organization) => ({ partition: 3, organization }))

describe('a catalog review', () => {
  it('compares all rows once, then changed organizations and unsettled rows', () => {
    const { begin, beginTick, endComparison, change } = givenReview()
    expect(begin()).toEqual({ scopes: [], needTick: [3] })
    const whole = beginTick(3)
    expect(whole).toEqual(WHOLE)
    endComparison(whole, of('acme'))
    expect(begin()).toEqual({ scopes: of('acme'), needTick: [] })
    change('globex')
    const round = begin()
    expect(round).toEqual({ scopes: of('acme'), needTick: [3] })
    endComparison(round.scopes, [])
    const changed = beginTick(3)
    expect(changed).toEqual(of('globex'))
    endComparison(changed, [])
    expect(begin()).toEqual(NOTHING)
  })

  it('continues an unfinished comparison while other organizations change', () => {
    const { begin, beginTick, endComparison, change } = givenReview()
    const rest = { partition: 3, organization: undefined, after: ['globex', 'shop', 'nps'] }
    begin()
    endComparison(beginTick(3), of('acme'), [rest])
    change('globex')
    expect(begin()).toEqual({ scopes: [rest, ...of('acme')], needTick: [3] })
    const scopes = beginTick(3)
    expect(scopes).toEqual([rest, ...of('acme', 'globex')])
    endComparison(scopes, [])
    expect(begin()).toEqual(NOTHING)
  })

  it('keeps a change that precedes a tick, because a batch may still commit rows of the old catalog', () => {
    const { begin, beginTick, endComparison, change } = givenSettled()
    change('acme')
    for (const look of [1, 2]) {
      const { scopes, needTick } = begin()
      expect({ look, scopes, needTick }).toEqual({ look, scopes: [], needTick: [3] })
      endComparison(scopes, [])
    }
    endComparison(beginTick(3), [])
    expect(begin()).toEqual(NOTHING)
  })

  it('keeps an organization that changes during its comparison, also if a tick begins meanwhile', () => {
    for (const isTicked of [false, true]) {
      const { begin, beginTick, endComparison, change } = givenSettled()
      change('acme')
      endComparison(beginTick(3), of('acme'))
      const { scopes } = begin()
      change('acme')
      if (isTicked) beginTick(3)
      endComparison(scopes, [])
      expect(begin()).toEqual(isTicked ? { scopes: of('acme'), needTick: [] } : { scopes: [], needTick: [3] })
    }
  })

  it('keeps an organization that changes during the comparison of all', () => {
    for (const open of [[], ['acme']]) {
      const { begin, beginTick, endComparison, change } = givenReview()
      begin()
      const scopes = beginTick(3)
      change('globex')
      endComparison(scopes, of(...open))
      expect(begin()).toEqual({ scopes: of(...open), needTick: [3] })
    }
  })

  it('compares all rows again for a returned partition, swapped tables or another catalog', () => {
    const { catalog } = givenCatalog()
    const review = createCatalogReview()
    const endComparison = (...[view, partitions, tables]: Parameters<typeof review.begin>) => {
      review.begin(view, partitions, tables)
      const scopes = review.beginTick(3)
      review.endComparison(scopes, [])
      return scopes
    }
    expect(endComparison(catalog, [3], 1n)).toEqual(WHOLE)
    expect(endComparison(catalog, [3], 1n)).toEqual([])
    review.begin(catalog, [], 1n)
    expect(endComparison(catalog, [3], 1n)).toEqual(WHOLE)
    expect(endComparison(catalog, [3], 2n)).toEqual(WHOLE)
    expect(endComparison(staticCatalog([]), [3], 2n)).toEqual(WHOLE)
  })
})
