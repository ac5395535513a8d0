import { expect, it } from 'vitest'
import { readProcess } from './read-process.ts'

it('readProcess adds up the counters of a gateway over routes, and skips other metrics', () => {
  const { counters, openBreakers, deadLetters } = readProcess(`
# HELP nextvisit_gateway_request_seconds From the first byte
# TYPE nextvisit_gateway_request_seconds histogram
nextvisit_gateway_request_seconds_bucket{le="0.05",method="POST",route="/v2/admin/track-event",status="202",service="gateway"} 3
nextvisit_gateway_request_seconds_bucket{le="0.05",method="GET",route="/v2/admin/users/{userName}",status="200",service="gateway"} 2
nextvisit_gateway_request_seconds_count{method="POST",route="/v2/admin/track-event",status="202",service="gateway"} 4
nextvisit_gateway_records_total{type="EventTracked",service="gateway"} 4
nextvisit_gateway_breaker_open{breaker="metering",service="gateway"} 1
nextvisit_gateway_breaker_open{breaker="say \\"hi\\" {x}",service="gateway"} 0
process_cpu_seconds_total{service="gateway"} 12.5 1700000000000
`)
  expect(Object.fromEntries(counters)).toEqual({ 'le:0.05': 5, 'answer:202': 4, 'record:EventTracked': 4 })
  expect(openBreakers).toEqual(['metering'])
  expect(deadLetters).toBeNull()
})

it('readProcess returns the partitions of a consumer', () => {
  const { partitions, deadLetters, outboxSeconds } = readProcess(`
projection_lag_seconds{partition="3",service="metering"} 1.5
projection_lag_records{partition="3",service="metering"} 7
projection_halted{partition="3",service="metering"} 1
projection_dead_letters{state="dead",service="metering"} 2
projection_dead_letters{state="retry",service="metering"} 1
projection_outbox_seconds{service="metering"} 0
`)
  expect(partitions.get(3)).toEqual({
    lagSeconds: 1.5,
    lagRecords: 7,
    isHalted: true,
    stalledSeconds: 0,
    ticksFailingSeconds: 0,
  })
  expect({ deadLetters, outboxSeconds }).toEqual({ deadLetters: 3, outboxSeconds: 0 })
})

it('readProcess counts the signing secrets that a gateway cannot decrypt, by key', () => {
  const { undecryptableSecrets } = readProcess(`
nextvisit_gateway_undecryptable_secrets{key="1a2b3c4d5e6f7a8b",service="gateway"} 2
nextvisit_gateway_undecryptable_secrets{key="damaged",service="gateway"} 1
`)
  expect(Object.fromEntries(undecryptableSecrets)).toEqual({ '1a2b3c4d5e6f7a8b': 2, damaged: 1 })
})
