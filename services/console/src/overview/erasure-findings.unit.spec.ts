import type { UnfinishedErasure } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { erasureFindings } from './erasure-findings.ts'

const AT = '2026-11-23T03:00:00.000Z'
const erasureOf = (nth: number, stores: UnfinishedErasure['stores']): UnfinishedErasure => ({
  organization: 'acme',
  project: 'shop',
  erasureId: `01a2066e-3ec0-780c-9db5-05517574891${nth}`,
  requestedAt: AT,
  status: stores.some(({ status }) => status === 'incomplete') ? 'incomplete' : 'running',
  users: 1,
  unknown: 0,
  suppress: false,
  stores,
})
const late = { store: 'user-projector', status: 'incomplete', rows: 0, because: 'It lags.' } as const
const keys = { store: 'user-keys', status: 'incomplete', rows: 0 } as const

it('an erasure is a finding if a store is late, and critical unless only its keys are', () => {
  const running = erasureOf(0, [{ store: 'user-projector', status: 'running', rows: 0 }])
  const findings = erasureFindings([running, erasureOf(1, [late, keys]), erasureOf(2, [keys])])
  expect(findings.map(({ severity, text }) => `${severity}: ${text}`)).toEqual([
    'critical: The erasure 01a2066e-3ec0-780c-9db5-055175748911 of one user in acme/shop is incomplete: user-projector (It lags.), user-keys.',
    'warning: The erasure 01a2066e-3ec0-780c-9db5-055175748912 of one user in acme/shop is incomplete: user-keys.',
  ])
  expect(findings[0]).toMatchObject({ runbook: 'erasure', links: [{ screen: 'erasure', project: 'shop' }] })
})

it('many late erasures are counted', () => {
  const findings = erasureFindings(Array.from({ length: 5 }, (_, nth) => erasureOf(nth, [keys])))
  expect(findings).toHaveLength(4)
  expect(findings.at(-1)?.text).toBe('2 more erasures are incomplete.')
})
