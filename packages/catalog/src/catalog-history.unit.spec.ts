import { OrganizationConfig } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { addToHistory, emptyHistory } from './catalog-history.ts'
import { changeLine } from './diff-organization.ts'
import type { CatalogRecord } from './read-catalog-record.ts'

const RECORDED = new Date('2026-11-23T06:00:00Z')
const APPLIED = { at: '2026-11-23T05:59:59.000Z', by: 'grace' }

function revision(number: number, eventsPerMonth: number | null, applied?: typeof APPLIED): CatalogRecord {
  const config = eventsPerMonth === null ? null : OrganizationConfig.parse({ id: 'acme', plan: { eventsPerMonth } })
  const common = { outcome: 'read', organization: 'acme', notUnderstood: [] } as const
  return { ...common, id: crypto.randomUUID(), revision: number, config, ...(applied && { applied }) }
}

function historyOf(...records: readonly CatalogRecord[]) {
  const history = emptyHistory()
  for (const record of records) addToHistory(history, record, RECORDED)
  return {
    isCut: history.isCut,
    revisions: history.revisions.map(({ changes, ...rest }) => ({ ...rest, changes: changes.map(changeLine) })),
  }
}

describe('the history of the catalog', () => {
  it('lists each revision with its operator, time and changes', () => {
    const { revisions } = historyOf(revision(1, 100, APPLIED), revision(2, 200), revision(3, null, APPLIED))
    expect(revisions).toMatchObject([
      {
        revision: 1,
        appliedAt: APPLIED.at,
        appliedBy: 'grace',
        comparedWith: 0,
        changes: ['+ acme organization', '~ acme plan.eventsPerMonth (none) → 100'],
      },
      {
        revision: 2,
        appliedAt: '2026-11-23T06:00:00.000Z',
        appliedBy: null,
        comparedWith: 1,
        changes: ['~ acme plan.eventsPerMonth 100 → 200'],
      },
      { revision: 3, comparedWith: 2, changes: ['- acme organization'] },
    ])
  })

  it('compares each revision with the one before it in a compacted log; the first has no changes', () => {
    expect(historyOf(revision(7, 100), revision(9, 300)).revisions).toMatchObject([
      { revision: 7, comparedWith: null, changes: [] },
      { revision: 9, comparedWith: 7, changes: ['~ acme plan.eventsPerMonth 100 → 300'] },
    ])
  })

  it('marks the second of two equal revisions as late', () => {
    expect(historyOf(revision(1, 100), revision(1, 200), revision(2, 300)).revisions).toMatchObject([
      { outcome: 'counts' },
      { outcome: 'late', changes: [] },
      { outcome: 'counts', changes: ['~ acme plan.eventsPerMonth 100 → 300'] },
    ])
  })

  it('gives the reason why a record of a later version is not understood', () => {
    const later: CatalogRecord = {
      outcome: 'unreadable',
      organization: 'acme',
      revision: 2,
      keys: new Map(),
      reason: 'config.plan: new',
    }
    expect(historyOf(revision(1, 100), later).revisions[1]).toMatchObject({
      outcome: 'not-understood',
      problem: 'config.plan: new',
      changes: [],
    })
  })

  it('keeps the latest 500 revisions with 100 changes each', () => {
    const many = OrganizationConfig.parse({
      id: 'acme',
      projects: [{ id: 'shop', events: Array.from({ length: 150 }, (_, index) => ({ slug: `event-${index}` })) }],
    })
    const first = revision(1, 100)
    const large: CatalogRecord = { ...revision(2, 100), config: many } as CatalogRecord
    const { revisions, isCut } = historyOf(
      first,
      large,
      ...Array.from({ length: 499 }, (_, index) => revision(index + 3, index)),
    )
    expect(isCut).toBe(true)
    expect(revisions).toHaveLength(500)
    expect(revisions[0]).toMatchObject({ revision: 2, moreChanges: 52 })
    expect(revisions[0]?.changes).toHaveLength(100)
  })
})
