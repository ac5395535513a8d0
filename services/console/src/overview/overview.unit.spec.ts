import { expect, it } from 'vitest'
import { consumerReading, givenService, PARTITIONS, sampleOf } from '../../test/given-samples.ts'
import { overviewOf } from './overview.ts'

const NOW_MS = 3_600_000
const services = [
  givenService('gateway', [consumerReading()]),
  givenService('metering', [consumerReading({ deadLetters: 2 })]),
]

it('the Overview computes rates over the last minute, and counts over five minutes and an hour', () => {
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
    lastAnswers: new Map(),
    reached: [],
    erasures: [],
    endpoints: [],
    members: new Map(),
    partitionCount: PARTITIONS,
    nowMs: NOW_MS,
  })
  expect(now).toEqual({
    eventsPerSecond: 1,
    identifiesPerSecond: 0,
    answersPerSecond: 2,
    okPerSecond: 2,
    refusedPerSecond: 0,
    failedPerSecond: 0,
    p50Ms: 50,
    p99Ms: 99,
    refusalsPerMinute: 0,
    uncheckedPerMinute: 0,
    deadLetters: 2,
  })
  expect(answers).toEqual([{ name: '202', lastMinutes: 10, lastHour: 17 }])
  expect(history).toMatchObject({ eventsPerSecond: [1.4, 1], p99Ms: [null, 99], lagSeconds: { metering: [null, 4] } })
  expect(findings).toHaveLength(1)
})

it.each([
  ['the start of the console', 20 * 60_000, '1970-01-01T00:40:00.000Z'],
  ['null if the samples cover the whole hour', 59.5 * 60_000, null],
])('the Overview gives as the start of the counts %s', (_, agoMs, countedSince) => {
  const samples = [sampleOf({}, { atMs: NOW_MS - agoMs, seconds: 0 }), sampleOf({}, { atMs: NOW_MS })]
  const parts = {
    samples,
    services: [],
    lastAnswers: new Map(),
    reached: [],
    erasures: [],
    endpoints: [],
    members: new Map(),
    partitionCount: PARTITIONS,
  }
  expect(overviewOf({ ...parts, nowMs: NOW_MS }).countedSince).toBe(countedSince)
})

it('the Overview reports the time of the figures of a silent consumer, and an estimate of the records that wait', () => {
  const silent = [givenService('gateway', [undefined]), givenService('metering', [undefined])]
  const lastAnswers = new Map([['metering', { atMs: NOW_MS - 90_000, lagRecords: 2, recordedSince: 29 }]])
  const parts = {
    samples: [],
    services: silent,
    lastAnswers,
    reached: [],
    erasures: [],
    endpoints: [],
    members: new Map(),
    partitionCount: PARTITIONS,
  }
  expect(overviewOf({ ...parts, nowMs: NOW_MS }).services).toMatchObject([
    { asOf: null, silence: { recordsWaiting: null } },
    { asOf: '1970-01-01T00:58:30.000Z', silence: { recordsWaiting: 31 } },
  ])
})

it('the Overview has no figures before the first sample', () => {
  const { sampledAt, now, findings } = overviewOf({
    samples: [],
    services: [],
    lastAnswers: new Map(),
    reached: [],
    erasures: [],
    endpoints: [],
    members: new Map(),
    partitionCount: PARTITIONS,
    nowMs: NOW_MS,
  })
  expect({ sampledAt, findings }).toEqual({ sampledAt: null, findings: [] })
  expect(new Set(Object.values(now))).toEqual(new Set([null]))
})
