import { CATALOG_OLD_AFTER_S, FAILED_SHARE, SLOW_AFTER_S } from '@nextvisit/contracts/thresholds'
import { anyIsBad, type Dashboard, graph } from './dashboard.ts'

const REQUESTS = 'nextvisit_gateway_request_seconds'
const GATEWAY = '$own, service="gateway"'

/** For an operator who knows that requests fail or are slow, and asks which and why. */
export const gateway: Dashboard = {
  name: 'gateway',
  title: 'Nextvisit: gateway',
  description: 'Which requests fail or are slow, and why?',
  rows: [
    {
      title: 'Which requests fail?',
      panels: [
        graph('Share of 5xx', 'percentunit', {
          queries: [
            [
              `(sum(rate(${REQUESTS}_count{$own, status=~"5.."}[2m])) or vector(0)) / sum(rate(${REQUESTS}_count{$own}[2m]))`,
              '5xx',
            ],
          ],
          limits: [[FAILED_SHARE, 'red']],
          runbook: 'gateway#requests-get-5xx',
        }),
        graph('Answers with 5xx by route', 'reqps', {
          queries: [
            [
              `sum by (route, status) (rate(${REQUESTS}_count{$own, status=~"5.."}[$__rate_interval]))`,
              '{{status}} {{route}}',
            ],
          ],
          runbook: 'gateway#requests-get-5xx',
        }),
        graph('Refused requests and items, ten most frequent reasons', 'reqps', {
          queries: [
            [
              'topk(10, sum by (reason) (rate(nextvisit_gateway_refusals_total{$own}[$__rate_interval])))',
              '{{reason}}',
            ],
          ],
        }),
      ],
    },
    {
      title: 'Which are slow?',
      panels: [
        graph('Time to the answer', 's', {
          queries: [0.5, 0.9, 0.99].map((quantile) => [
            `histogram_quantile(${quantile}, sum by (le) (rate(${REQUESTS}_bucket{$own}[$__rate_interval])))`,
            `${quantile * 100} %`,
          ]),
          limits: [[SLOW_AFTER_S, 'orange']],
          runbook: 'gateway#requests-are-slow',
        }),
        graph('Slowest 1 % by route', 's', {
          queries: [
            [
              `histogram_quantile(0.99, sum by (le, route) (rate(${REQUESTS}_bucket{$own}[$__rate_interval])))`,
              '{{route}}',
            ],
          ],
        }),
        graph('Replies of the evaluator that came too late', 'percentunit', {
          queries: [
            [
              'sum(rate(nextvisit_gateway_reply_wait_seconds_count{$own, outcome="later"}[$__rate_interval])) / sum(rate(nextvisit_gateway_reply_wait_seconds_count{$own}[$__rate_interval]))',
              'later',
            ],
          ],
          runbook: 'gateway#requests-are-slow',
        }),
        graph('Time of a request to Kafka, slowest 1 %', 's', {
          queries: [
            [
              `histogram_quantile(0.99, sum by (le, outcome) (rate(nextvisit_publish_seconds_bucket{${GATEWAY}}[$__rate_interval])))`,
              '{{outcome}}',
            ],
          ],
        }),
      ],
    },
    {
      title: 'Does admission work?',
      panels: [
        graph('Skipped checks', 'reqps', {
          queries: [['sum by (check) (rate(nextvisit_gateway_unchecked_total{$own}[$__rate_interval]))', '{{check}}']],
          limits: anyIsBad('orange'),
          runbook: 'gateway#checks-are-skipped',
        }),
        graph('Paused calls', 'short', {
          queries: [['max by (breaker) (nextvisit_gateway_breaker_open{$own}) == 1', '{{breaker}}']],
          runbook: 'gateway#calls-to-a-service-are-paused',
        }),
        graph('Calls to services', 'reqps', {
          queries: [
            [
              'sum by (owner, call) (rate(nextvisit_gateway_owner_calls_total{$own}[$__rate_interval]))',
              '{{owner}} {{call}}',
            ],
          ],
        }),
        graph('Projects whose signing secret cannot be decrypted', 'short', {
          queries: [['max by (key) (nextvisit_gateway_undecryptable_secrets{$own})', '{{key}}']],
          limits: anyIsBad('red'),
          runbook: 'rotate-secrets#a-gateway-lacks-a-key',
        }),
      ],
    },
    {
      title: 'What comes in?',
      panels: [
        graph('Records', 'cps', {
          queries: [['sum by (type) (rate(nextvisit_gateway_records_total{$own}[$__rate_interval]))', '{{type}}']],
          isStacked: true,
        }),
        graph('Device facts that were dropped', 'cps', {
          queries: [
            [
              'sum by (field) (rate(nextvisit_gateway_invalid_device_fields_total{$own}[$__rate_interval]))',
              '{{field}}',
            ],
          ],
        }),
        graph('Parts of Segment requests that are not recorded', 'cps', {
          queries: [
            ['sum by (reason) (rate(nextvisit_gateway_segment_left_out_total{$own}[$__rate_interval]))', '{{reason}}'],
          ],
        }),
      ],
    },
    {
      title: 'Processes',
      panels: [
        graph('Age of the catalog and of the erasures', 's', {
          queries: [
            [`max by (instance) (nextvisit_catalog_age_seconds{${GATEWAY}})`, 'catalog {{instance}}'],
            ['max by (instance) (nextvisit_erasures_age_seconds{$own})', 'erasures {{instance}}'],
          ],
          limits: [[CATALOG_OLD_AFTER_S, 'red']],
          runbook: 'lag#a-process-cannot-read-kafka',
        }),
        graph('CPU, cores', 'short', {
          queries: [[`rate(process_cpu_seconds_total{${GATEWAY}}[$__rate_interval])`, '{{instance}}']],
        }),
        graph('Memory', 'bytes', { queries: [[`process_resident_memory_bytes{${GATEWAY}}`, '{{instance}}']] }),
        graph('Delay of the event loop', 's', {
          queries: [[`nodejs_eventloop_lag_seconds{${GATEWAY}}`, '{{instance}}']],
        }),
      ],
    },
  ],
}
