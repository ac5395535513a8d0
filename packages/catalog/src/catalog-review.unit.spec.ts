import { describe, expect, it } from 'vitest'
import { createCatalogReview } from './catalog-review.ts'
import { staticCatalog } from './static-catalog.ts'

function givenCatalog() {
  const listeners: ((organization: string) => void)[] = []
  const catalog = { ...staticCatalog([]), onChange: (listener: (typeof listeners)[0]) => void listeners.push(listener) }
  return { catalog, change: (organization: string) => listeners.forEach((listener) => listener(organization)) }
}

const WHOLE = [{ partition: 3, organization: undefined }]
const of = (...organizations: string[]) => organizations.map((organization) => ({ partition: 3, organization }))

describe('what must be compared with the catalog', () => {
  it('is everything once, then the organizations that change, and those that are not settled', () => {
    const { catalog, change } = givenCatalog()
    const review = createCatalogReview()
    expect(review.begin(catalog, [3], 1n)).toEqual(WHOLE)
    expect(review.scopesOf(3)).toEqual(WHOLE)
    review.settle(WHOLE, of('acme'))
    expect(review.scopesOf(3)).toEqual(of('acme'))
    change('globex')
    review.begin(catalog, [3], 1n)
    expect(review.scopesOf(3)).toEqual(of('acme', 'globex'))
    review.settle(of('acme', 'globex'), [])
    expect(review.scopesOf(3)).toEqual([])
  })

  it('goes on where the last look ended, beside the organizations that change', () => {
    const { catalog, change } = givenCatalog()
    const review = createCatalogReview()
    const rest = { partition: 3, organization: undefined, after: ['globex', 'shop', 'nps'] }
    review.begin(catalog, [3], 1n)
    review.settle(WHOLE, of('acme'), [rest])
    change('globex')
    expect(review.begin(catalog, [3], 1n)).toEqual([rest, ...of('acme', 'globex')])
    review.settle([rest, ...of('acme', 'globex')], [])
    expect(review.scopesOf(3)).toEqual([])
  })

  it('keeps what changes while the partition is compared, also if a tick looks meanwhile', () => {
    const { catalog, change } = givenCatalog()
    const review = createCatalogReview()
    for (const settled of [[], ['acme']]) {
      review.begin(catalog, [3], 1n)
      change('globex')
      review.settle(review.scopesOf(3), of(...settled))
      expect(review.scopesOf(3)).toEqual(of(...settled, 'globex'))
    }
  })

  it('is everything again for a partition that was away, for swapped tables and for another catalog', () => {
    const { catalog } = givenCatalog()
    const review = createCatalogReview()
    const settle = (...[view, partitions, tables]: Parameters<typeof review.begin>) => {
      review.begin(view, partitions, tables)
      const scopes = review.scopesOf(3)
      review.settle(scopes, [])
      return scopes
    }
    expect(settle(catalog, [3], 1n)).toEqual(WHOLE)
    expect(settle(catalog, [3], 1n)).toEqual([])
    review.begin(catalog, [], 1n)
    expect(settle(catalog, [3], 1n)).toEqual(WHOLE)
    expect(settle(catalog, [3], 2n)).toEqual(WHOLE)
    expect(settle(staticCatalog([]), [3], 2n)).toEqual(WHOLE)
  })
})
