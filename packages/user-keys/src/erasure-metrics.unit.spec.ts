import type { ErasureFact } from '@nextvisit/contracts'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { givenErasures } from '../test/given-erasures.ts'
import { createErasureMetrics } from './erasure-metrics.ts'

const request: ErasureFact = {
  type: 'ErasureRequested',
  id: '01a4ee00-0000-7000-8000-000000000001',
  organization: 'acme',
  project: 'shop',
  received: '2026-11-02T10:00:00.000Z',
  userIds: ['2ae2cbe1-6a43-5f1c-9a3c-3c8e6f2f3f01', '2ae2cbe1-6a43-5f1c-9a3c-3c8e6f2f3f02'],
  unknown: 0,
  suppress: true,
}

it('createErasureMetrics counts suppressed users and skipped records, and the age since the view was current', async () => {
  const registry = new Registry()
  const held = { asOfMs: 0, skipped: 0, view: givenErasures() }
  createErasureMetrics(
    registry,
    {
      currentAsOfMs: () => held.asOfMs,
      skipped: () => held.skipped,
      suppressedUsers: () => held.view.suppressedUsers(),
    },
    () => 5_500,
  )
  const read = async () => {
    const lines = (await registry.metrics()).matchAll(/^nextvisit_(\w+) (.*)$/gm)
    return Object.fromEntries(Array.from(lines, ([, name, value]) => [name, value]))
  }
  expect(await read()).toEqual({ erasures_age_seconds: 'Nan', erasures_skipped_records: '0', suppressed_users: '0' })

  Object.assign(held, { asOfMs: 3_000, skipped: 1, view: givenErasures([request]) })
  expect(await read()).toEqual({ erasures_age_seconds: '2.5', erasures_skipped_records: '1', suppressed_users: '2' })
})
