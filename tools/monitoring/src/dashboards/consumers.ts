import { LATE_AFTER_S, OUTBOX_LATE_AFTER_S, STALLED_AFTER_S, VERY_LATE_AFTER_S } from '@nextvisit/contracts/thresholds'
import { anyIsBad, type Dashboard, graph, type Limit } from './dashboard.ts'

const OF_SERVICE = '$own, service=~"$service"'
const LATE: readonly Limit[] = [
  [LATE_AFTER_S, 'orange'],
  [VERY_LATE_AFTER_S, 'red'],
]
const rate = (metric: string): string => `sum by (service) (rate(${metric}{${OF_SERVICE}}[$__rate_interval]))`

/** For an operator who knows that a consumer is late, and asks which partition, and what it waits for. */
export const consumers: Dashboard = {
  name: 'consumers',
  title: 'Nextvisit: consumers',
  description: 'Which consumer or partition is late, and what does it wait for?',
  variables: [
    { name: 'service', label: 'Consumer', query: 'label_values(projection_lag_records{job=~"$job"}, service)' },
  ],
  rows: [
    {
      title: 'Which one is late?',
      panels: [
        graph('Seconds behind the log', 's', {
          queries: [[`max by (service) (projection_lag_seconds{${OF_SERVICE}})`, '{{service}}']],
          limits: LATE,
          runbook: 'lag#it-folds-but-too-slowly',
        }),
        graph('Seconds behind the log, worst ten partitions', 's', {
          queries: [
            [
              `topk(10, max by (service, partition) (projection_lag_seconds{${OF_SERVICE}}))`,
              '{{service}} {{partition}}',
            ],
          ],
          limits: LATE,
        }),
        graph('Records that wait', 'short', {
          queries: [[`sum by (service) (projection_lag_records{${OF_SERVICE}})`, '{{service}}']],
        }),
        graph('Partitions with an owner', 'short', {
          queries: [
            [
              `count by (service) (count by (service, partition) (projection_lag_records{${OF_SERVICE}}))`,
              '{{service}}',
            ],
          ],
          runbook: 'lag#partitions-have-no-owner',
        }),
      ],
    },
    {
      title: 'Does anything stop it?',
      panels: [
        graph('Halted partitions', 'short', {
          queries: [[`count by (service) (projection_halted{${OF_SERVICE}} == 1)`, '{{service}}']],
          limits: anyIsBad('red'),
          runbook: 'halted#the-reason-of-the-halt',
        }),
        graph('Stalled for', 's', {
          queries: [
            [
              `max by (service, partition) (projection_stalled_seconds{${OF_SERVICE}}) > 5`,
              '{{service}} {{partition}}',
            ],
          ],
          limits: [[STALLED_AFTER_S, 'red']],
          runbook: 'lag#a-partition-is-stalled',
        }),
        graph('Ticks fail for', 's', {
          queries: [
            [
              `max by (service, partition) (projection_ticks_failing_seconds{${OF_SERVICE}}) > 5`,
              '{{service}} {{partition}}',
            ],
          ],
          limits: [[STALLED_AFTER_S, 'orange']],
          runbook: 'lag#ticks-fail',
        }),
        graph('Dead letters', 'short', {
          queries: [[`max by (service, state) (projection_dead_letters{${OF_SERVICE}})`, '{{service}} {{state}}']],
          limits: anyIsBad('orange'),
          runbook: 'dead-letters#find-the-cause-then-decide',
        }),
      ],
    },
    {
      title: 'How much does it do?',
      panels: [
        graph('Folded records', 'cps', { queries: [[rate('projection_records_total'), '{{service}}']] }),
        graph('Time of a fold, median and slowest 1 %', 's', {
          queries: [0.5, 0.99].map((quantile) => [
            `histogram_quantile(${quantile}, sum by (le, service) (rate(projection_fold_seconds_bucket{${OF_SERVICE}}[$__rate_interval])))`,
            `{{service}} ${quantile * 100} %`,
          ]),
        }),
        graph('Records a commit', 'short', {
          queries: [
            [`${rate('projection_batch_records_sum')} / ${rate('projection_batch_records_count')}`, '{{service}}'],
          ],
        }),
        graph('Retries, stale commits, dropped duplicates', 'cps', {
          queries: [
            [rate('projection_retries_total'), '{{service}} retries'],
            [rate('projection_stale_commits_total'), '{{service}} stale'],
            [rate('projection_copies_total'), '{{service}} duplicates'],
          ],
        }),
      ],
    },
    {
      title: 'Does it publish, and does Postgres keep up?',
      panels: [
        graph('Oldest record of the outbox', 's', {
          queries: [[`max by (service) (projection_outbox_seconds{${OF_SERVICE}})`, '{{service}}']],
          limits: [[OUTBOX_LATE_AFTER_S, 'orange']],
          runbook: 'lag#the-outbox-does-not-drain',
        }),
        graph('Records in the outbox', 'short', {
          queries: [[`max by (service) (projection_outbox_records{${OF_SERVICE}})`, '{{service}}']],
        }),
        graph('Busy connections', 'short', {
          queries: [
            [
              `sum by (service, pool) (nextvisit_database_connections{${OF_SERVICE}, state="busy"})`,
              '{{service}} {{pool}}',
            ],
          ],
        }),
        graph('Statements that wait for a connection', 'short', {
          queries: [
            [`sum by (service, pool) (nextvisit_database_waiting_statements{${OF_SERVICE}})`, '{{service}} {{pool}}'],
          ],
        }),
      ],
    },
    {
      title: 'Processes',
      panels: [
        graph('CPU, cores', 'short', {
          queries: [[`rate(process_cpu_seconds_total{${OF_SERVICE}}[$__rate_interval])`, '{{service}} {{instance}}']],
        }),
        graph('Memory', 'bytes', {
          queries: [[`process_resident_memory_bytes{${OF_SERVICE}}`, '{{service}} {{instance}}']],
        }),
        graph('Delay of the event loop', 's', {
          queries: [[`nodejs_eventloop_lag_seconds{${OF_SERVICE}}`, '{{service}} {{instance}}']],
        }),
      ],
    },
  ],
}
