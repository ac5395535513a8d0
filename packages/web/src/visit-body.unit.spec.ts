import { describe, expect, it } from 'vitest'
import { writeVisitBody } from './visit-body.ts'

const user = { userName: 'ada' }
const write = (traits?: object, deviceInfo?: object) => writeVisitBody(user, { traits, deviceInfo })

describe('the body of a visit', () => {
  it('has the user, the traits and the device facts', () => {
    expect(JSON.parse(write({ theme: 'dark' }, { $timezone: 'Europe/Berlin', $app: undefined }))).toEqual({
      userName: 'ada',
      userAttributes: { $set: { theme: 'dark' } },
      repeatMayDiffer: true,
      $deviceInfo: { $timezone: 'Europe/Berlin' },
    })
    expect(JSON.parse(write())).toEqual({ userName: 'ada', userAttributes: {}, repeatMayDiffer: true, $deviceInfo: {} })
  })

  it('is refused for a trait that is not JSON, which it names', () => {
    expect(() => write({ score: Number.NaN })).toThrow('traits.score must be a finite number, not NaN')
  })

  const circle: Record<string, unknown> = {}
  circle['of'] = circle

  it.each([
    ['NaN', Number.NaN],
    ['a number', 5],
    ['a BigInt', 1n],
    ['a function', () => 'x'],
    ['a symbol', Symbol('x')],
    ['a Map', new Map([['a', 1]])],
    ['an object that contains itself', circle],
  ])('keeps the names of invalid device facts for the gateway, which counts them: %s', (_, value) => {
    const { $deviceInfo } = JSON.parse(write(undefined, { $timezone: value, $browser: 'Firefox' })) as {
      $deviceInfo: unknown
    }
    expect($deviceInfo).toEqual({ $timezone: {}, $browser: 'Firefox' })
  })

  it('keeps a device fact with half a character, which the gateway drops', () => {
    expect(write(undefined, { $urlOrScreenName: 'Sale 🎉'.slice(0, 6) })).toContain('"Sale \\ud83c"')
  })

  it.each([null, Number.NaN, 'text', [Number.NaN]])('is JSON if the device facts are %j', (deviceInfo) => {
    expect(() => JSON.parse(write(undefined, deviceInfo as never)) as unknown).not.toThrow()
  })
})
