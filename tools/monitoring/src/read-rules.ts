import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'

/** Folder of the rules and dashboards. */
export const MONITORING = path.resolve(import.meta.dirname, '../../../infra/monitoring')

export interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: { readonly severity: 'critical' | 'warning' }
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string }
}

interface RecordingRule {
  readonly record: string
  readonly expr: string
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly (AlertRule | RecordingRule)[] }[]
}

/** Reads the rules of all groups. */
export function readRules(): { readonly alerts: readonly AlertRule[]; readonly records: readonly RecordingRule[] } {
  const { groups } = parse(readFileSync(path.join(MONITORING, 'rules.yaml'), 'utf8')) as RuleFile
  const rules = groups.flatMap((group) => group.rules)
  return {
    alerts: rules.filter((rule) => 'alert' in rule),
    records: rules.filter((rule) => 'record' in rule),
  }
}

interface AlertTest {
  readonly name: string
  readonly alert_rule_test?: readonly {
    readonly alertname: string
    readonly exp_alerts: readonly { readonly exp_labels: { readonly severity: string } }[]
  }[]
  readonly promql_expr_test: readonly { readonly expr: string; readonly exp_samples: readonly unknown[] }[]
}

/** Reads the tests of the rules. */
export function readAlertTests(): readonly AlertTest[] {
  const text = readFileSync(path.join(MONITORING, 'rules.test.yaml'), 'utf8')
  return (parse(text) as { readonly tests: readonly AlertTest[] }).tests
}
