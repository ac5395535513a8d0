import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createCatalogMetrics } from './catalog-metrics.ts'

const problem = { organization: 'acme', revision: 7, usedRevision: 6, reason: 'config.plan: of a later version' }

describe('createCatalogMetrics', () => {
  it('reads the view at each scrape', async () => {
    const registry = new Registry()
    const held = { problems: [problem], asOfMs: 0 }
    createCatalogMetrics(registry, { problems: () => held.problems, currentAsOfMs: () => held.asOfMs }, () => 5_500)
    expect(await registry.metrics()).toMatch(/^nextvisit_catalog_problems 1\n[^]*^nextvisit_catalog_age_seconds Nan$/m)
    Object.assign(held, { problems: [], asOfMs: 3_000 })
    expect(await registry.metrics()).toMatch(/^nextvisit_catalog_problems 0\n[^]*^nextvisit_catalog_age_seconds 2.5$/m)
  })
})
