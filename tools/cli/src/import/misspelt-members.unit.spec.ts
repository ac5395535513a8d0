import { countArraySteps } from '@nextvisit/contracts/count-array-steps'
import { describe, expect, it } from 'vitest'
import { misspeltMembers, otherFormat } from './misspelt-members.ts'

const lineWith = (members: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: members }, (_, at) => [`eventNam${at}`, at])))
const of = (line: string) => misspeltMembers(Buffer.from(line))
const stepsOf = (members: number) => countArraySteps(() => of(lineWith(members)))

describe('members that are misspelt', () => {
  it.each([
    ['usrName', 'userName'],
    ['user_name', 'userName'],
    ['username', 'userName'],
    ['eventNmae', 'eventName'],
    ['occuredAt', 'occurredAt'],
    ['userAttributs', 'userAttributes'],
    ['tpye', 'type'],
    ['propertes', 'properties'],
  ])('%s is %s', (name, meant) => {
    expect(of(JSON.stringify({ [name]: 'x' }))).toEqual([`unknown member "${name}": did you mean ${meant}?`])
  })

  it.each([
    ['userId', 'userName'],
    ['user_id', 'userName'],
    ['event', 'eventName'],
    ['event_type', 'eventName'],
    ['timestamp', 'occurredAt'],
    ['traits', 'userAttributes'],
    ['event_properties', 'properties'],
    ['messageId', 'id'],
  ])('%s, the name of another product, is %s', (name, meant) => {
    expect(of(JSON.stringify({ [name]: 'x' }))).toEqual([`unknown member "${name}": did you mean ${meant}?`])
  })

  it.each([
    ['segment', 'Segment', '{"type":"track","anonymousId":"1"}'],
    ['mixpanel', 'Mixpanel', '{"event":"x","properties":{"time":1}}'],
    ['amplitude', 'Amplitude', '{"event_type":"x","event_time":"2021-01-01 00:00:00.000000"}'],
    ['posthog', 'PostHog', '{"event":"x","distinct_id":"ada"}'],
  ])('suggest --format %s for a line of %s', (format, product, line) => {
    expect(of(line).at(-1)).toBe(`the line looks like an export of ${product}: try --format ${format}`)
  })

  it('suggest no format for one of our own lines', () => {
    const line = Buffer.from('{"type":"track","userName":"ada","eventName":"x"}')
    expect(otherFormat(line, 'segment')).toEqual(['the line looks like one of our own: omit --format'])
    expect(otherFormat(line)).toEqual([])
  })

  it('name the right member of a line of Amplitude', () => {
    expect(of('{"event_type":"x","event_time":"2021-01-01 00:00:00"}')).toContain(
      'unknown member "event_time": did you mean occurredAt?',
    )
  })

  it('name the right member of a line of Mixpanel', () => {
    expect(of('{"event":"x","properties":{"distinct_id":"ada","time":1602611311,"$city":"Berlin"}}')).toEqual([
      'unknown member "event": did you mean eventName?',
      'unknown member "properties.distinct_id": did you mean userName?',
      'unknown member "properties.time": did you mean occurredAt?',
      'the line looks like an export of Mixpanel: try --format mixpanel',
    ])
  })

  it('are looked for among the first twenty, in a line of any length', () => {
    const line = Object.fromEntries(Array.from({ length: 8_000 }, (_, n) => [`usrName${n}${'x'.repeat(n % 90)}`, 1]))
    expect(of(JSON.stringify(line)).length).toBeLessThanOrEqual(20)
  })

  it('are found in time that grows with the number of members', () => {
    expect(stepsOf(8_000) / stepsOf(4_000)).toBeLessThan(2.5)
  })

  it.each([
    ['known members', '{"type":"track","userName":"ada"}'],
    ['members unlike any known one', '{"plan":"pro","at":"2026-01-01"}'],
    ['a variant of a present member', '{"userName":"ada","username":"ada"}'],
    ['members of an array', '["usrName"]'],
    ['invalid JSON', '{"usrName"'],
  ])('do not include %s', (_, line) => {
    expect(of(line)).toEqual([])
  })
})
