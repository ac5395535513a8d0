import {
  FAILED_SHARE,
  LATE_AFTER_S,
  OUTBOX_LATE_AFTER_S,
  SLOW_AFTER_S,
  VERY_LATE_AFTER_S,
} from '@nextvisit/contracts/thresholds'
import { anyIsBad, type Dashboard, graph, stat, table } from './dashboard.ts'

const REQUESTS = 'nextvisit_gateway_request_seconds'
/** Labels of alerts. */
const ALERT = ['severity', 'alertname', 'service', 'store', 'organization', 'project', 'endpoint']

/** For a glance: does anything need an operator? */
export const overview: Dashboard = {
  name: 'overview',
  title: 'Nextvisit: overview',
  description: 'Do customers get answers? Is anything late?',
  rows: [
    {
      title: 'Do customers get answers?',
      panels: [
        stat('Alerts', 'short', {
          queries: [['count(ALERTS{alertname=~"Nextvisit.+", alertstate="firing"}) or vector(0)']],
          limits: anyIsBad('red'),
        }),
        stat('Requests', 'reqps', { queries: [[`sum(rate(${REQUESTS}_count{$own}[$__rate_interval]))`]] }),
        stat('Answers with 5xx', 'percentunit', {
          queries: [
            [
              `(sum(rate(${REQUESTS}_count{$own, status=~"5.."}[2m])) or vector(0)) / sum(rate(${REQUESTS}_count{$own}[2m]))`,
            ],
          ],
          limits: [[FAILED_SHARE, 'red']],
          runbook: 'gateway#requests-get-5xx',
        }),
        stat('Slowest 1 %', 's', {
          queries: [[`histogram_quantile(0.99, sum by (le) (rate(${REQUESTS}_bucket{$own}[5m])))`]],
          limits: [[SLOW_AFTER_S, 'orange']],
          runbook: 'gateway#requests-are-slow',
        }),
        stat('Skipped checks, last hour', 'short', {
          queries: [['sum(increase(nextvisit_gateway_unchecked_total{$own}[1h]))']],
          limits: anyIsBad('orange'),
          runbook: 'gateway#checks-are-skipped',
        }),
        stat('Processes that do not answer', 'short', {
          queries: [['count(up{$own} == 0) or vector(0)']],
          limits: anyIsBad('orange'),
          runbook: 'lag#a-process-does-not-answer',
        }),
      ],
    },
    {
      panels: [
        table(
          'Firing alerts',
          `sum by (${ALERT.join(', ')}) (ALERTS{alertname=~"Nextvisit.+", alertstate="firing"})`,
          ALERT,
        ),
        graph('Requests by status', 'reqps', {
          queries: [[`sum by (status) (rate(${REQUESTS}_count{$own}[$__rate_interval]))`, '{{status}}']],
          isStacked: true,
        }),
      ],
    },
    {
      title: 'Is anything late?',
      panels: [
        graph('Seconds behind the log', 's', {
          queries: [['max by (service) (projection_lag_seconds{$own})', '{{service}}']],
          limits: [
            [LATE_AFTER_S, 'orange'],
            [VERY_LATE_AFTER_S, 'red'],
          ],
          runbook: 'lag#it-folds-but-too-slowly',
        }),
        graph('Oldest record of an outbox', 's', {
          queries: [['max by (service) (projection_outbox_seconds{$own})', '{{service}}']],
          limits: [[OUTBOX_LATE_AFTER_S, 'orange']],
          runbook: 'lag#the-outbox-does-not-drain',
        }),
        graph('Dead letters', 'short', {
          queries: [['max by (service) (projection_dead_letters{$own, state="dead"})', '{{service}}']],
          limits: anyIsBad('orange'),
          runbook: 'dead-letters#find-the-cause-then-decide',
        }),
        graph('Halted partitions', 'short', {
          queries: [['count by (service) (projection_halted{$own} == 1)', '{{service}}']],
          limits: anyIsBad('red'),
          runbook: 'halted#the-reason-of-the-halt',
        }),
      ],
    },
    {
      title: 'Webhooks and erasures',
      panels: [
        graph('Oldest delivery, worst five endpoints', 's', {
          queries: [
            [
              'topk(5, max by (organization, project, endpoint) (nextvisit_webhooks_oldest_seconds{$own}))',
              '{{organization}}/{{project}} {{endpoint}}',
            ],
          ],
          runbook: 'webhooks#deliveries-pile-up',
        }),
        graph('Erasures that a store has not finished in time', 'short', {
          queries: [['max by (store) (nextvisit_erasures_incomplete{$own})', '{{store}}']],
          limits: anyIsBad('red'),
          runbook: 'erasure#a-store-does-not-finish',
        }),
        graph('Oldest erasure, and the retention of keys', 's', {
          queries: [
            ['max(nextvisit_erasures_oldest_seconds{$own})', 'oldest'],
            ['max(nextvisit_erasures_key_retention_seconds{$own})', 'retention'],
          ],
          runbook: 'erasure#an-erasure-exceeds-the-retention',
        }),
      ],
    },
    {
      title: 'Processes',
      panels: [
        graph('CPU, cores', 'short', {
          queries: [['sum by (service) (rate(process_cpu_seconds_total{$own}[$__rate_interval]))', '{{service}}']],
        }),
        graph('Memory', 'bytes', {
          queries: [['max by (service, instance) (process_resident_memory_bytes{$own})', '{{service}} {{instance}}']],
        }),
        graph('Restarts', 'short', {
          queries: [['sum by (service) (changes(process_start_time_seconds{$own}[$__rate_interval]))', '{{service}}']],
          runbook: 'lag#a-process-restarts-repeatedly',
        }),
      ],
    },
  ],
}
