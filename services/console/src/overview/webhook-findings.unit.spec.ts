import type { UnhealthyEndpoint } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { webhookFindings } from './webhook-findings.ts'

const NOW_MS = Date.parse('2026-11-23T12:00:00.000Z')
const HOUR_MS = 3_600_000
const ago = (hours: number): string => new Date(NOW_MS - hours * HOUR_MS).toISOString()
const endpointOf = (endpointId: string, health: Partial<UnhealthyEndpoint>): UnhealthyEndpoint => ({
  organization: 'acme',
  project: 'shop',
  endpointId,
  ...health,
})
const disabled = endpointOf('crm', { disabledAt: ago(5), because: 'it answered 410', failingSince: ago(1) })
const failing = endpointOf('mail', { failingSince: ago(3), pendingSince: ago(4) })
const lagging = endpointOf('queue', { pendingSince: ago(72) })

it('an endpoint is a finding if it is disabled, fails or lags, and critical if it is disabled', () => {
  const findings = webhookFindings([lagging, failing, disabled], NOW_MS)
  expect(findings.map(({ severity, text }) => `${severity}: ${text}`)).toEqual([
    'critical: The webhook endpoint crm of acme/shop has been disabled for 5 h. It answered 410. Its deliveries wait until an operator enables it; none is lost.',
    'warning: The webhook endpoint mail of acme/shop has been failing for 3 h: no attempt has succeeded. After five days it is disabled.',
    'warning: The webhook endpoint queue of acme/shop lags: its oldest delivery has been pending for 3 days.',
  ])
  expect(findings[0]).toMatchObject({ runbook: 'webhooks', links: [{ screen: 'webhook', endpointId: 'crm' }] })
})

it('an endpoint that has failed for minutes only is no finding: receivers restart', () => {
  const recent = endpointOf('crm', { failingSince: ago(0.1), pendingSince: ago(0.9) })
  expect(webhookFindings([recent], NOW_MS)).toEqual([])
  expect(webhookFindings([{ ...recent, failingSince: ago(0.3) }], NOW_MS)).toMatchObject([
    { text: expect.stringContaining('failing for 18 min') },
  ])
})

it('many endpoints are counted, after those that are disabled', () => {
  const many = Array.from({ length: 4 }, (_, nth) => endpointOf(`mail-${nth}`, { failingSince: ago(nth + 1) }))
  const findings = webhookFindings([...many, disabled], NOW_MS)
  expect(findings.map(({ links: [link] }) => link && 'endpointId' in link && link.endpointId)).toEqual([
    'crm',
    'mail-3',
    'mail-2',
    undefined,
  ])
  expect(findings.at(-1)?.text).toMatch(/^2 more webhook endpoints need attention/)
})
