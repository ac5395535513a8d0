import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseOccurredAt } from './occurred-at.ts'

const RECEIVED = Date.parse('2026-11-02T10:00:00.000Z')
const pad = (n: number) => String(n).padStart(2, '0')
const at = (ms: number) => new Date(RECEIVED + ms).toISOString()

describe('parseOccurredAt (decisions.md, Track event, occurredAt)', () => {
  it.each([
    ['2026-11-02T10:00:00.000Z', '2026-11-02T10:00:00.000Z'],
    ['2026-11-02T10:00:00Z', '2026-11-02T10:00:00.000Z'],
    ['2026-11-02T10:00Z', '2026-11-02T10:00:00.000Z'],
    ['2026-11-02T09:59:59.9Z', '2026-11-02T09:59:59.900Z'],
    ['2026-11-02T09:59:59.123999999Z', '2026-11-02T09:59:59.123Z'],
    ['2026-11-02T11:00:00+01:00', '2026-11-02T10:00:00.000Z'],
    ['2026-11-02T11:00+0100', '2026-11-02T10:00:00.000Z'],
    ['2026-11-01T22:30:00-11:30', '2026-11-02T10:00:00.000Z'],
    ['2026-02-28T00:00:00-00:00', '2026-02-28T00:00:00.000Z'],
  ])('takes %s', (text, occurredAt) => {
    expect(parseOccurredAt(text, RECEIVED)).toMatchObject({ outcome: 'ok', occurredAt })
  })

  it.each([
    '',
    'now',
    '2026-11-02',
    '2026-11-02T10:00:00',
    '2026-11-02 10:00:00Z',
    '2026-11-02T10Z',
    '2026-11-02T10:00:00.Z',
    '2026-11-02T10:00.5Z',
    '2026-11-02T24:00:00Z',
    '2026-11-02T10:60:00Z',
    '2026-11-02T10:00:60Z',
    '2026-11-02T10:00:00+24:00',
    '2026-11-02T10:00:00+01:60',
    '2026-11-02T10:00:00+01',
    '2026-02-29T10:00:00Z',
    '2026-13-01T10:00:00Z',
    '2026-00-10T10:00:00Z',
    '+002026-11-02T10:00:00Z',
    '+10000-01-01',
    '+010000-13-01T00:00:00Z',
    '0001-02-29T00:00:00Z',
    '0000-00-00T00:00:00Z',
    ' 2026-11-02T10:00:00Z',
    '2026-11-02T10:00:00Z\n',
    '1793613600000',
  ])('refuses %j', (text) => {
    expect(parseOccurredAt(text, RECEIVED)).toEqual({
      outcome: 'rejected',
      reason: 'occurredAt',
      message: expect.stringContaining('ISO 8601'),
    })
  })

  it.each([
    [5 * 60_000, 'ok'],
    [5 * 60_000 + 1, 'rejected'],
    [-365 * 86_400_000, 'ok'],
    [-365 * 86_400_000 - 1, 'rejected'],
  ])('has inclusive limits: %d ms from received is %s', (ms, outcome) => {
    expect(parseOccurredAt(at(ms), RECEIVED).outcome).toBe(outcome)
  })

  it.each([
    ['0000-01-01T00:00:00Z', 'past'],
    ['0001-01-01T00:00:00Z', 'past'],
    ['0001-01-01T00:00:00.0000000+00:00', 'past'],
    ['0001-01-01T00:00:00+23:59', 'past'],
    ['0099-12-31T23:59:59Z', 'past'],
    ['0026-11-02T10:00:00Z', 'past'],
    ['1970-01-01T00:00:00Z', 'past'],
    ['-0001-01-01T00:00:00Z', 'past'],
    ['-000001-01-01T00:00:00Z', 'past'],
    ['-1000000000-01-01T00:00Z', 'past'],
    ['9999-12-31T23:59:59.9999999Z', 'ahead'],
    ['+010000-01-01T00:00:00Z', 'ahead'],
    ['+10000-02-29T00:00:00Z', 'ahead'],
    ['+1000000000-12-31T23:59:59.999999999Z', 'ahead'],
  ])('tells an instant of any year from other text: %s is %s', (text, reason) => {
    expect(parseOccurredAt(text, RECEIVED)).toMatchObject({ outcome: 'rejected', reason })
  })

  it.each([
    [-15 * 60_000, true],
    [-15 * 60_000 - 1, false],
    [5 * 60_000, true],
  ])('evaluates triggers up to an age of 15:00.000: %d ms gives %s', (ms, evaluateTriggers) => {
    expect(parseOccurredAt(at(ms), RECEIVED)).toMatchObject({ evaluateTriggers })
  })

  it('reads every instant with every offset', () => {
    const offset = fc.integer({ min: -(23 * 60 + 59), max: 23 * 60 + 59 })
    fc.assert(
      fc.property(
        fc.integer({ min: -365 * 86_400_000, max: 5 * 60_000 }),
        offset,
        fc.boolean(),
        (ms, minutes, colon) => {
          const local = new Date(RECEIVED + ms + minutes * 60_000).toISOString().slice(0, -1)
          const size = Math.abs(minutes)
          const zone = `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}${colon ? ':' : ''}${pad(size % 60)}`
          expect(parseOccurredAt(local + zone, RECEIVED)).toMatchObject({ outcome: 'ok', occurredAt: at(ms) })
        },
      ),
    )
  })

  it('refuses anything else, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(parseOccurredAt(text, RECEIVED).outcome).toBe('rejected')
      }),
    )
  })
})
