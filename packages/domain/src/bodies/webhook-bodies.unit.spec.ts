import { describe, expect, it } from 'vitest'
import { parseReplayBody, parseRetryBody } from './webhook-bodies.ts'

const NOW = '2026-11-28T10:00:00.000Z'
const FROM = '2026-11-27T00:00:00.000Z'
const replay = (body: object) => parseReplayBody(body as never, Date.parse(NOW))
const retry = (body: object) => parseRetryBody(body as never, Date.parse(NOW))

describe('the body of a replay', () => {
  it('is a range of instants, in any form with a time zone, and events', () => {
    expect(replay({ from: '2026-11-27T01:00:00+01:00', to: '2026-11-28T00:00Z', events: ['form.queued'] })).toEqual({
      outcome: 'ok',
      value: { from: FROM, to: '2026-11-28T00:00:00.000Z', events: ['form.queued'] },
    })
  })

  it('takes days, which begin at midnight UTC', () => {
    expect(retry({ from: '2026-11-27', to: '2026-11-28' })).toEqual({
      outcome: 'ok',
      value: { from: FROM, to: '2026-11-28T00:00:00.000Z' },
    })
  })

  it.each([{}, { to: null, events: null }, { to: '2027-01-01T00:00:00Z' }])('ends now at the latest: %j', (special) => {
    expect(replay({ from: FROM, ...special })).toEqual({ outcome: 'ok', value: { from: FROM, to: NOW } })
  })

  it('begins in 1970 at the earliest', () => {
    expect(retry({ from: '0001-01-01T00:00:00Z' })).toMatchObject({ value: { from: '1970-01-01T00:00:00.000Z' } })
  })

  it.each([
    [{}, 'from'],
    [{ from: 1_795_000_000 }, 'from'],
    [{ from: '2026-11-27T09:30' }, 'from'],
    [{ from: '2026-02-30' }, 'from'],
    [{ from: FROM, to: 'tomorrow' }, 'to'],
    [{ from: FROM, to: 7 }, 'to'],
    [{ from: FROM, to: FROM }, 'from'],
    [{ from: '2027-01-01T00:00:00Z' }, 'from'],
  ])('%j is refused, and the message names %s', (body, member) => {
    for (const parse of [replay, retry])
      expect(parse(body)).toMatchObject({ outcome: 'rejected', message: expect.stringMatching(`^${member} must`) })
  })

  it.each([[[]], [['form.shown']], ['form.queued'], [{}]])('refuses the events %j', (events) => {
    expect(replay({ from: FROM, events })).toMatchObject({ outcome: 'rejected', reason: 'webhookEvents' })
  })
})
