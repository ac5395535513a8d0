import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { namesPageOf, slugPrefixOf } from './name-lines.ts'

const AT = '2026-11-23T03:00:00.000Z'
const definitionOf = (slug: string) => ({ slug, name: slug, firstSeenAt: AT, lastSeenAt: AT, count: 1 })
const inBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))

/** Pages as the trait registry returns them. */
function registryPage(registered: readonly string[], limit: number, after?: string) {
  const rest = registered.filter((slug) => after === undefined || inBytes(slug, after) > 0).toSorted(inBytes)
  const page = rest.slice(0, limit)
  return { definitions: page.map(definitionOf), next: rest.length > limit ? (page.at(-1) ?? null) : null }
}

const declaredTraits = (enabled: readonly string[], disabled: readonly string[]) => ({
  declaredTraits: new Set(enabled),
  disabledTraits: new Set(disabled),
  declaredEvents: new Set<string>(),
  disabledEvents: new Set<string>(),
})

describe('a page of names', () => {
  it('marks disabled names, and includes declared names without records', () => {
    const { names, next } = namesPageOf({
      kind: 'traits',
      page: registryPage(['plan', 'note'], 10),
      declared: declaredTraits(['plan', 'tier'], ['note', 'old']),
      prefix: '',
      after: undefined,
      limit: 10,
    })
    expect(next).toBeNull()
    expect(names.map(({ slug, isDisabled, isDeclared, count }) => [slug, isDisabled, isDeclared, count])).toEqual([
      ['note', true, false, 1],
      ['old', true, false, 0],
      ['plan', false, true, 1],
      ['tier', false, true, 0],
    ])
  })

  it('shows each name once over all pages, in byte order', () => {
    const slugs = fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }), { maxLength: 30 })
    fc.assert(
      fc.property(slugs, slugs, slugs, fc.integer({ min: 1, max: 5 }), (registered, enabled, disabled, limit) => {
        const seen: string[] = []
        let after: string | undefined
        do {
          const page = namesPageOf({
            kind: 'traits',
            page: registryPage(registered, limit, after),
            declared: declaredTraits(enabled, disabled),
            prefix: '',
            after,
            limit,
          })
          expect(page.names.length).toBeLessThanOrEqual(limit)
          seen.push(...page.names.map(({ slug }) => slug))
          after = page.next ?? undefined
        } while (after !== undefined)
        expect(seen).toEqual([...new Set([...registered, ...enabled, ...disabled])].toSorted(inBytes))
      }),
    )
  })

  it('finds events in any spelling, and traits exactly', () => {
    expect(slugPrefixOf('events', ' Checkout C')).toBe('checkout_c')
    expect(slugPrefixOf('events', '!')).toBe('!')
    expect(slugPrefixOf('traits', 'Plan ')).toBe('Plan ')
  })
})
