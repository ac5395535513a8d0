import * as contracts from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import type { TrackAnswer, VisitAnswer } from './result.ts'

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

it('answers have the types of the gateway’s schemas', () => {
  // The compiler compares the types; the values check the schemas.
  const visit: VisitAnswer = contracts.VisitAnswer.parse({
    message: 'ok',
    userId: '3d1a2c9e-9a54-5b0e-8f3c-0c7a1f1e2d3b',
    pingAgainIn: 60,
    pingOnNextPageVisit: false,
    onPageDelay: 0,
  } satisfies Mutable<VisitAnswer>)
  const track: TrackAnswer = contracts.TrackEventAnswer.parse({
    requestId: '019375a0-7b1c-7d3e-8f00-0123456789ab',
    occurredAt: '2026-11-22T12:00:00.000Z',
    newEvent: false,
    triggersEvaluated: true,
    formsQueued: 0,
    message: 'Event recorded.',
  } satisfies Mutable<TrackAnswer>)
  expect([visit.pingAgainIn, track.formsQueued]).toEqual([60, 0])
})
