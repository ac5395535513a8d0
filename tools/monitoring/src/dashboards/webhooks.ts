import {
  LATE_AFTER_S,
  VERY_LATE_AFTER_S,
  WEBHOOK_FAILS_AFTER_MS,
  WEBHOOK_LAGS_AFTER_MS,
} from '@nextvisit/contracts/thresholds'
import { anyIsBad, type Dashboard, graph, stat } from './dashboard.ts'

const DISPATCHER = '$own, service="webhook-dispatcher"'
const byEndpoint = (metric: string): string => `max by (organization, project, endpoint) (${metric}{$own})`
const ENDPOINT = '{{organization}}/{{project}} {{endpoint}}'
const FAILS_AFTER_S = WEBHOOK_FAILS_AFTER_MS / 1_000
const LAGS_AFTER_S = WEBHOOK_LAGS_AFTER_MS / 1_000

/** For an operator who knows that webhooks are late, and asks whose. */
export const webhooks: Dashboard = {
  name: 'webhooks',
  title: 'Nextvisit: webhooks',
  description: 'Which endpoints fail or lag?',
  rows: [
    {
      title: 'Which endpoints?',
      panels: [
        stat('Disabled endpoints', 'short', {
          queries: [[`sum(${byEndpoint('nextvisit_webhooks_disabled')}) or vector(0)`]],
          limits: anyIsBad('orange'),
          runbook: 'webhooks#a-webhook-is-disabled',
        }),
        stat('Failing endpoints', 'short', {
          queries: [[`count(${byEndpoint('nextvisit_webhooks_failing_seconds')} > ${FAILS_AFTER_S}) or vector(0)`]],
          limits: anyIsBad('orange'),
          runbook: 'webhooks#the-last-attempt',
        }),
        stat('Oldest delivery', 's', {
          queries: [['max(nextvisit_webhooks_oldest_seconds{$own})']],
          limits: [[LAGS_AFTER_S, 'orange']],
          runbook: 'webhooks#deliveries-pile-up',
        }),
        stat('Requests in flight', 'short', { queries: [['sum(nextvisit_webhooks_in_flight{$own})']] }),
      ],
    },
    {
      panels: [
        graph('Oldest delivery, worst ten endpoints', 's', {
          queries: [[`topk(10, ${byEndpoint('nextvisit_webhooks_oldest_seconds')})`, ENDPOINT]],
          limits: [[LAGS_AFTER_S, 'orange']],
          runbook: 'webhooks#deliveries-pile-up',
        }),
        graph('Failing for', 's', {
          queries: [[`${byEndpoint('nextvisit_webhooks_failing_seconds')} > 0`, ENDPOINT]],
          limits: [[FAILS_AFTER_S, 'orange']],
          runbook: 'webhooks#the-last-attempt',
        }),
        graph('Disabled', 'short', {
          queries: [[`${byEndpoint('nextvisit_webhooks_disabled')} == 1`, ENDPOINT]],
          runbook: 'webhooks#a-webhook-is-disabled',
        }),
      ],
    },
    {
      title: 'Does the dispatcher send?',
      panels: [
        graph('Attempts by outcome', 'reqps', {
          queries: [
            ['sum by (outcome) (rate(nextvisit_webhooks_attempts_total{$own}[$__rate_interval]))', '{{outcome}}'],
          ],
          isStacked: true,
          runbook: 'webhooks#the-last-attempt',
        }),
        graph('Seconds behind the log', 's', {
          queries: [[`max(projection_lag_seconds{${DISPATCHER}})`, 'webhook-dispatcher']],
          limits: [
            [LATE_AFTER_S, 'orange'],
            [VERY_LATE_AFTER_S, 'red'],
          ],
          runbook: 'lag#it-folds-but-too-slowly',
        }),
        graph('Dead letters', 'short', {
          queries: [[`max(projection_dead_letters{${DISPATCHER}, state="dead"})`, 'webhook-dispatcher']],
          limits: anyIsBad('orange'),
          runbook: 'dead-letters#find-the-cause-then-decide',
        }),
      ],
    },
  ],
}
