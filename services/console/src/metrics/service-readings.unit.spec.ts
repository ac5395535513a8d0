import { expect, it } from 'vitest'
import { sampleOf } from '../../test/given-samples.ts'
import { lastAnswerAfter } from './service-readings.ts'

const silent = { answering: 0, lagRecords: null }

it('the last answer of a service counts the records published since', () => {
  const answered = lastAnswerAfter(undefined, { answering: 1, lagRecords: 2 }, sampleOf({}, { atMs: 1_000 }))
  const later = lastAnswerAfter(answered, silent, sampleOf({ 'record:EventTracked': 5, 'record:IdentifyRequested': 1 }))
  expect(lastAnswerAfter(later, silent, sampleOf({ 'record:EventTracked': 3, 'answer:202': 3 }))).toEqual({
    atMs: 1_000,
    lagRecords: 2,
    recordedSince: 9,
  })
})

it('the last answer of a service that never answered is undefined', () => {
  expect(lastAnswerAfter(undefined, silent, sampleOf({ 'record:EventTracked': 5 }))).toBeUndefined()
})
