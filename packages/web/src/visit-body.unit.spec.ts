import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { writeVisitBody } from './visit-body.ts'

beforeAll(() => void vi.stubGlobal('navigator', { language: 'de-CH' }))
afterAll(() => vi.unstubAllGlobals())

const user = { userName: 'ada' }
const $deviceLanguage = 'de-CH'
const write = (traits?: object, deviceInfo?: object) => writeVisitBody(user, { traits, deviceInfo })

describe('the body of a visit', () => {
  it('has the user, the traits and the device facts', () => {
    expect(JSON.parse(write({ theme: 'dark' }, { $timezone: 'Europe/Berlin', $app: undefined }))).toEqual({
      userName: 'ada',
      userAttributes: { $set: { theme: 'dark' } },
      repeatMayDiffer: true,
      $deviceInfo: { $timezone: 'Europe/Berlin', $deviceLanguage },
    })
    expect(JSON.parse(write())).toEqual({
      userName: 'ada',
      userAttributes: {},
      repeatMayDiffer: true,
      $deviceInfo: { $deviceLanguage },
    })
  })

  it.each([
    ['the one that the page knows', { $deviceLanguage: 'fr' }, { $deviceLanguage: 'fr' }],
    ['none, if the page says so', { $deviceLanguage: undefined }, {}],
  ])('has another language than that of the browser: %s', (_which, given, sent) => {
    expect(JSON.parse(write(undefined, given))).toMatchObject({ $deviceInfo: sent })
    expect(write(undefined, given)).not.toContain('de-CH')
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
    expect($deviceInfo).toEqual({ $timezone: {}, $browser: 'Firefox', $deviceLanguage })
  })

  it('keeps a device fact with half a character, which the gateway drops', () => {
    expect(write(undefined, { $urlOrScreenName: 'Sale 🎉'.slice(0, 6) })).toContain('"Sale \\ud83c"')
  })

  it.each([null, Number.NaN, 'text', [Number.NaN]])('is JSON if the device facts are %j', (deviceInfo) => {
    expect(() => JSON.parse(write(undefined, deviceInfo as never)) as unknown).not.toThrow()
  })
})
