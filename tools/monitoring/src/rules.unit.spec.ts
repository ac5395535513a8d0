import { readFileSync } from 'node:fs'
import path from 'node:path'
import {
  CALLS,
  CATALOG_OLD_AFTER_S,
  FAILED_SHARE,
  LATE_AFTER_S,
  OUTBOX_LATE_AFTER_S,
  SLOW_AFTER_S,
  STALLED_AFTER_S,
  VERY_LATE_AFTER_S,
  WEBHOOK_FAILS_AFTER_MS,
  WEBHOOK_LAGS_AFTER_MS,
} from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { CONSOLE } from './dashboards/dashboard.ts'
import { readDashboards } from './read-dashboards.ts'
import { readAlertTests, readRules } from './read-rules.ts'

const RUNBOOKS = path.resolve(import.meta.dirname, '../../../docs/runbooks')
const { alerts, records } = readRules()

/** Comparisons in the expression of an alert that the console's findings or the dashboards have, too. */
const COMPARED: ReadonlyMap<string, readonly string[]> = new Map([
  ['NextvisitGatewayRefuses', [`> ${FAILED_SHARE}`]],
  ['NextvisitGatewaySlow', [`> ${SLOW_AFTER_S}`]],
  [
    'NextvisitKafkaUnreachable',
    [`_catalog_age_seconds > ${CATALOG_OLD_AFTER_S}`, `_erasures_age_seconds > ${CATALOG_OLD_AFTER_S}`],
  ],
  ['NextvisitConsumerStalled', [`(projection_stalled_seconds) > ${STALLED_AFTER_S}`]],
  ['NextvisitConsumerLate critical', [`) > ${VERY_LATE_AFTER_S}`, `projection_stalled_seconds > ${STALLED_AFTER_S}`]],
  ['NextvisitConsumerLate warning', [`) > ${LATE_AFTER_S} <= ${VERY_LATE_AFTER_S}`]],
  ['NextvisitTicksFail', [`> ${STALLED_AFTER_S}`]],
  ['NextvisitOutboxLate warning', [`> ${OUTBOX_LATE_AFTER_S} <= `]],
  ['NextvisitWebhookFails', [`> ${WEBHOOK_FAILS_AFTER_MS / 1_000}`]],
  [
    'NextvisitWebhookLags',
    [`> ${WEBHOOK_LAGS_AFTER_MS / 1_000}`, `_failing_seconds[2m]) > ${WEBHOOK_FAILS_AFTER_MS / 1_000}`],
  ],
])

/** Returns the headings of a runbook that the console can scroll to, as ids. */
function headingIdsOf(name: string): readonly string[] {
  const text = readFileSync(path.join(RUNBOOKS, `${name}.md`), 'utf8')
  return Array.from(text.matchAll(/^#{2,3} (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function hasHeading(url: string): boolean {
  const [, name, id] = /^([\w-]+)#([\w-]+)$/.exec(url.replace(`${CONSOLE}/runbooks/`, '')) ?? []
  return name !== undefined && headingIdsOf(name).includes(id ?? '')
}

describe('the alert rules', () => {
  it.each(alerts)('$alert ($labels.severity) has a wait, texts, and a runbook with this heading', (rule) => {
    expect(rule.for).toMatch(/^\d+m$/)
    expect(['critical', 'warning']).toContain(rule.labels.severity)
    expect(rule.annotations.summary).not.toBe('')
    expect(rule.annotations.description).not.toBe('')
    expect(rule.annotations.runbook_url).toSatisfy(hasHeading)
  })

  it('have the thresholds of the console and of the dashboards', () => {
    for (const [name, comparisons] of COMPARED) {
      const found = alerts.filter(({ alert, labels }) => [alert, `${alert} ${labels.severity}`].includes(name))
      expect({ name, found: found.length }).toEqual({ name, found: 1 })
      for (const comparison of comparisons) expect(found[0]?.expr).toContain(comparison)
    }
  })

  it('know every consumer', () => {
    const down = records.find(({ record }) => record === 'nextvisit:service_down')?.expr ?? ''
    const named = Array.from(down.matchAll(/service="([\w-]+)"/g), ([, service]) => service)
    expect(new Set(['gateway', ...named])).toEqual(new Set(Object.keys(CALLS)))
  })

  it('have a test that fires each, and one without a fault', () => {
    const tests = readAlertTests()
    const fired = tests.flatMap(({ alert_rule_test: ofAlerts = [] }) =>
      ofAlerts.flatMap(({ alertname, exp_alerts: expected }) =>
        expected.map(({ exp_labels: labels }) => `${alertname} ${labels.severity}`),
      ),
    )
    const names = alerts.map(({ alert, labels }) => `${alert} ${labels.severity}`)
    expect([...new Set(fired)].toSorted()).toEqual(names.toSorted())
    const quiet = tests.filter(({ alert_rule_test: ofAlerts }) => ofAlerts === undefined)
    expect(quiet).toHaveLength(1)
    expect(quiet[0]?.promql_expr_test).toMatchObject([
      { expr: 'count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[1h]))', exp_samples: [] },
    ])
  })
})

describe('the dashboards', () => {
  it.each(readDashboards())('$name link only to headings of runbooks', ({ panels }) => {
    const links = panels.flatMap(({ links: own = [] }) => own.map(({ url }) => url))
    expect(links.length).toBeGreaterThanOrEqual(3)
    expect(links.filter((url) => !hasHeading(url))).toEqual([])
  })
})
