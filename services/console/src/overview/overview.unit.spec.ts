import { expect, it } from 'vitest'
import { consumerReading, givenService, PARTITIONS, sampleOf } from '../../test/given-samples.ts'
import { overviewOf } from './overview.ts'

const NOW_MS = 3_600_000
const services = [
  givenService('gateway', [consumerReading()]),
  givenService('metering', [consumerReading({ deadLetters: 2 })]),
]

it('computes rates from the last minute, and counts of five minutes and of the hour', () => {
  const samples = [
    sampleOf({}, { atMs: 0, seconds: 0 }),
    sampleOf({ 'answer:202': 7, 'record:EventTracked': 7 }, { atMs: NOW_MS - 600_000 }),
    sampleOf(
      { 'answer:202': 10, 'record:EventTracked': 5, 'le:0.1': 10, 'le:+Inf': 10 },
      { atMs: NOW_MS - 1_000, lagSeconds: new Map([['metering', 4]]) },
    ),
  ]
  const { now, answers, history, findings } = overviewOf({
    samples,
    services,
    partitionCount: PARTITIONS,
    nowMs: NOW_MS,
  })
  expect(now).toEqual({
    eventsPerSecond: 1,
    identifiesPerSecond: 0,
    answersPerSecond: 2,
    p50Ms: 50,
    p99Ms: 99,
    refusalsPerMinute: 0,
    uncheckedPerMinute: 0,
    deadLetters: 2,
  })
  expect(answers).toEqual([{ name: '202', lastMinutes: 10, lastHour: 17 }])
  expect(history).toMatchObject({ events: [1.4, 1], p99Ms: [null, 99], lagSeconds: { metering: [null, 4] } })
  expect(findings).toHaveLength(1)
})

it('knows nothing before the first sample', () => {
  const { sampledAt, now, findings } = overviewOf({
    samples: [],
    services: [],
    partitionCount: PARTITIONS,
    nowMs: NOW_MS,
  })
  expect({ sampledAt, findings }).toEqual({ sampledAt: null, findings: [] })
  expect(new Set(Object.values(now))).toEqual(new Set([null]))
})
