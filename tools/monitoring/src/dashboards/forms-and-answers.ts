import { LATE_AFTER_S, VERY_LATE_AFTER_S } from '@nextvisit/contracts/thresholds'
import { type Dashboard, graph, stat } from './dashboard.ts'

/** Records of `form-events`, as the answer collector folds them. */
const STEPS = '$own, service="answer-collector"'
const inRange = (type: string): string => `sum(increase(projection_records_total{${STEPS}, type="${type}"}[$__range]))`

/** For the question whether the product does what customers bought. */
export const formsAndAnswers: Dashboard = {
  name: 'forms-and-answers',
  title: 'Nextvisit: forms and answers',
  description: 'Are forms queued, shown and answered?',
  rows: [
    {
      title: 'In the chosen period',
      panels: [
        stat('Queued forms', 'short', { queries: [[inRange('FormQueued')]] }),
        stat('Shown forms', 'short', { queries: [[inRange('FormDelivered')]] }),
        stat('Answers', 'short', { queries: [[inRange('FormAnswered')]] }),
        stat('Expired forms', 'short', { queries: [[inRange('FormExpired')]] }),
        stat('Shown of queued', 'percentunit', {
          queries: [[`${inRange('FormDelivered')} / ${inRange('FormQueued')}`]],
        }),
      ],
    },
    {
      title: 'Do forms go out?',
      panels: [
        graph('Steps of forms', 'cps', {
          queries: [
            [`sum by (type) (rate(projection_records_total{${STEPS}, type=~"Form.+"}[$__rate_interval]))`, '{{type}}'],
          ],
        }),
        graph('Visits, events and answers that come in', 'cps', {
          queries: [['sum by (type) (rate(nextvisit_gateway_records_total{$own}[$__rate_interval]))', '{{type}}']],
        }),
        graph('Replies to events and visits', 'reqps', {
          queries: [
            [
              'sum by (outcome) (rate(nextvisit_gateway_reply_wait_seconds_count{$own}[$__rate_interval]))',
              '{{outcome}}',
            ],
          ],
          isStacked: true,
          runbook: 'gateway#requests-are-slow',
        }),
      ],
    },
    {
      title: 'Are they late?',
      panels: [
        graph('Seconds behind the log', 's', {
          queries: [
            [
              'max by (service) (projection_lag_seconds{$own, service=~"form-trigger-evaluator|answer-collector|user-projector"})',
              '{{service}}',
            ],
          ],
          limits: [
            [LATE_AFTER_S, 'orange'],
            [VERY_LATE_AFTER_S, 'red'],
          ],
          runbook: 'lag#it-folds-but-too-slowly',
        }),
        graph('Wait for the reply of the evaluator', 's', {
          queries: [0.5, 0.99].map((quantile) => [
            `histogram_quantile(${quantile}, sum by (le) (rate(nextvisit_gateway_reply_wait_seconds_bucket{$own}[$__rate_interval])))`,
            `${quantile * 100} %`,
          ]),
        }),
        graph('Steps of forms that were not counted as queued', 'cps', {
          queries: [['sum(rate(ignored_form_steps_total{$own}[$__rate_interval]))', 'ignored']],
          runbook: 'dead-letters#forms-that-were-not-counted-as-queued',
        }),
        graph('Users who enter and leave segments', 'cps', {
          queries: [
            [
              `sum by (type) (rate(projection_records_total{${STEPS}, type=~"Segment.+"}[$__rate_interval]))`,
              '{{type}}',
            ],
          ],
        }),
      ],
    },
  ],
}
