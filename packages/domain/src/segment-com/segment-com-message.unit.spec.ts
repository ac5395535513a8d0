import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseIdentifyBody } from '../bodies/identify-body.ts'
import { isJsonObject } from '../bodies/json-object.ts'
import { parseSegmentComMessage, userNameOfUserId } from './segment-com-message.ts'

const receivedMs = Date.parse('2026-11-02T10:00:00Z')
const read = (message: unknown, type: unknown = 'identify', sentAt?: string, allowed: readonly string[] = []) =>
  parseSegmentComMessage(message, type, { sentAt, receivedMs }, { allowedFields: new Set(allowed) })
const timeOf = (timestamp: unknown, sentAt?: string) => {
  const parsed = read({ userId: 'ada', event: 'a', timestamp }, 'track', sentAt)
  return parsed.outcome === 'track' ? parsed.track['occurredAt'] : parsed
}

describe('the traits of a message (decisions.md, Segment’s API)', () => {
  it('are flattened with dots', () => {
    const traits = { plan: 'pro', company: { name: 'Acme', address: { city: 'Bonn' }, seats: [1, 'two'] }, gone: null }
    expect(read({ userId: 'ada', traits })).toMatchObject({
      identify: {
        userAttributes: {
          $set: {
            plan: 'pro',
            'company.name': 'Acme',
            'company.address.city': 'Bonn',
            'company.seats': [1, 'two'],
            gone: null,
          },
        },
      },
      droppedTraits: 0,
    })
  })

  it('are also those of context.traits that traits lacks', () => {
    const context = {
      traits: { plan: 'free', company: { plan: 'free', seats: 3 }, email: 'a@b.c', gone: 'x', site: { a: 1 } },
    }
    expect(read({ userId: 'ada', context })).toMatchObject({
      identify: {
        userAttributes: {
          $set: { plan: 'free', 'company.plan': 'free', 'company.seats': 3, email: 'a@b.c', gone: 'x', 'site.a': 1 },
        },
      },
    })
    const traits = { plan: 'pro', company: { plan: 'pro' }, gone: null, site: 'x' }
    expect(read({ userId: 'ada', traits, context })).toMatchObject({
      identify: {
        userAttributes: {
          $set: { plan: 'pro', 'company.plan': 'pro', gone: null, site: 'x', 'company.seats': 3, email: 'a@b.c' },
        },
      },
    })
  })

  it.each([[[]], [undefined], ['x'], [7]])('may be absent or of another type: %j', (other) => {
    const parsed = read({ userId: 'ada', traits: other, context: { traits: other } })
    expect(parsed).toMatchObject({ identify: { userAttributes: { $set: {} } } })
    expect(read({ userId: 'ada', context: other })).toMatchObject({ identify: { userAttributes: { $set: {} } } })
  })

  it('of context are not set by an event', () => {
    const parsed = read({ userId: 'ada', event: 'a', context: { traits: { plan: 'pro' } } }, 'track')
    expect(JSON.stringify(parsed.outcome === 'track' && [parsed.identify, parsed.track])).not.toContain('plan')
  })

  it.each([
    ['traits', { score: Infinity }, 'traits.score'],
    ['traits', { company: { id: [1, -Infinity] } }, 'traits.company.id'],
  ])('refuse the message for a number that would be rounded, in %s', (_where, traits, member) => {
    expect(read({ userId: 'ada', traits })).toMatchObject({ reason: 'inexactNumber', member })
    expect(read({ userId: 'ada', context: { traits } })).toMatchObject({ member: `context.${member}` })
  })

  it('exclude and count values that no trait can hold', () => {
    const traits = { ok: 1, list: [[1]], objects: [{}], long: 'x'.repeat(501), ['k'.repeat(101)]: 1, '': 1 }
    expect(read({ userId: 'ada', traits })).toMatchObject({
      identify: { userAttributes: { $set: { ok: 1 } } },
      droppedTraits: 5,
    })
  })

  it('exclude a personal field that the project does not keep, with everything in it', () => {
    const message = { userId: 'ada', traits: { address: { city: 'Bonn' } } }
    expect(read(message)).toMatchObject({ identify: { userAttributes: { $set: {} } }, droppedTraits: 1 })
    expect(read(message, 'identify', undefined, ['address'])).toMatchObject({
      identify: { userAttributes: { $set: { 'address.city': 'Bonn' } } },
    })
  })

  it('always become valid operations of an identify, unless there are too many', () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 3, maxKeys: 4 }), (given) => {
        const traits: unknown = JSON.parse(JSON.stringify(given))
        const parsed = read({ userId: 'ada', traits })
        fc.pre(parsed.outcome === 'identify')
        const device = isJsonObject(traits) && Object.keys(traits).some((name) => name.startsWith('$'))
        expect(device || parseIdentifyBody(parsed.outcome === 'identify' ? parsed.identify : {}).outcome === 'ok').toBe(
          true,
        )
      }),
    )
  })
})

describe('the time of an event (decisions.md, Segment’s API)', () => {
  it('is corrected by the error of the caller’s clock', () => {
    expect(timeOf('2026-11-02T11:59:00.500+01:00', '2026-11-02T11:00:00Z')).toBe('2026-11-02T09:59:00.500Z')
    expect(timeOf('2026-11-02T08:00:00Z', '2026-11-02T09:00:00Z')).toBe('2026-11-02T09:00:00.000Z')
  })

  it('ignores a correction to a time that no event may have', () => {
    const now = '2026-11-02T10:00:00Z'
    for (const sentAt of [
      '2026-10-19T10:00:00Z',
      '0001-01-01T00:00:00Z',
      '9999-12-31T23:59:59Z',
      '+010000-01-01T00:00:00Z',
    ])
      expect(timeOf(now, sentAt)).toBe(now)
    expect(timeOf('2026-10-30T10:00:00Z', '2026-10-19T10:00:00Z')).toBe('2026-10-30T10:00:00Z')
    for (const far of ['+010000-01-01T00:00:00Z', '-000001-01-01T00:00:00Z']) expect(timeOf(far, far)).toBe(far)
  })

  it('is corrected up to the allowed limits', () => {
    expect(timeOf('2026-11-02T10:00:00Z', '2026-11-02T09:55:00Z')).toBe('2026-11-02T10:05:00.000Z')
    expect(timeOf('2026-11-02T10:00:00Z', '2026-11-02T09:54:59Z')).toBe('2026-11-02T10:00:00Z')
    expect(timeOf('2027-11-02T10:00:00Z', '2027-11-02T10:01:00Z')).toBe('2026-11-02T09:59:00.000Z')
  })

  it('is originalTimestamp, as RudderStack’s libraries send it, unless there is a timestamp', () => {
    const [originalTimestamp, sent] = ['2026-11-02T10:59:00Z', '2026-11-02T11:00:00Z']
    const of = (members: object) => {
      const parsed = read({ userId: 'ada', event: 'a', ...members }, 'track', sent)
      return parsed.outcome === 'track' && parsed.track['occurredAt']
    }
    expect(of({ originalTimestamp })).toBe('2026-11-02T09:59:00.000Z')
    expect(of({ originalTimestamp, timestamp: '2026-11-02T10:00:00Z' })).toBe('2026-11-02T09:00:00.000Z')
    expect(of({ originalTimestamp, timestamp: null })).toBe('2026-11-02T09:59:00.000Z')
    for (const wrong of ['now', 5, {}, null]) expect(of({ originalTimestamp: wrong })).toBeUndefined()
    expect(of({ originalTimestamp, timestamp: 'now' })).toBe('now')
  })

  it('is unchanged without sentAt', () => {
    expect(timeOf('2026-11-02T09:59:00Z')).toBe('2026-11-02T09:59:00Z')
    expect(timeOf('2026-11-02T09:59:00Z', 'noon')).toBe('2026-11-02T09:59:00Z')
  })

  it('is passed on to the rules of an event if it is not a time', () => {
    expect(timeOf('noon', '2026-11-02T10:00:00Z')).toBe('noon')
    expect(timeOf(5)).toBe(5)
    expect(timeOf(undefined)).toBe(undefined)
  })
})

describe('the user of a message', () => {
  it.each([
    [{ userId: 7 }, '7'],
    [{ userId: 'ada', anonymousId: 'x' }, 'ada'],
  ])('%j', (message, userName) => {
    expect(read(message)).toMatchObject({ outcome: 'identify', identify: { userName } })
  })

  it.each([[{ anonymousId: 'x' }], [{ userId: '', anonymousId: 'x' }], [{ userId: null, anonymousId: 7 }]])(
    'is ignored where anonymous: %j',
    (message) => expect(read(message, 'track')).toEqual({ outcome: 'ignored', reason: 'anonymous' }),
  )

  it('is required', () => {
    expect(read({ userId: null })).toMatchObject({
      outcome: 'rejected',
      message: 'userId or anonymousId must be given',
    })
  })
})

const messageOf = (bytes: number) => {
  const frame = '{"userId":"ada","filling":""}'
  return { userId: 'ada', filling: 'x'.repeat(bytes - frame.length) }
}

const readText = (text: string, type: string) => read(JSON.parse(text), type)

describe('an id that is a number', () => {
  const inexact = [
    '1193046900000000001',
    '1193046900000000099',
    '9007199254740992',
    '-9007199254740992',
    '0.1',
    '1e400',
  ]

  it.each(['identify', 'track'])('is refused by name if it may be rounded: %s', (type) => {
    for (const number of inexact)
      for (const [member, others] of [
        ['userId', '"anonymousId":"x"'],
        ['messageId', '"userId":"ada"'],
      ])
        expect(readText(`{${others},"${member}":${number}}`, type)).toMatchObject({
          outcome: 'rejected',
          message: expect.stringMatching(`^${member} must be text.*as text$`),
        })
  })

  it('is taken up to the largest exact whole number', () => {
    for (const id of ['9007199254740991', '-9007199254740991', '0'])
      expect(readText(`{"userId":${id},"messageId":${id}}`, 'identify')).toMatchObject({ identify: { userName: id } })
  })

  it('names no user in a refusal', () => {
    expect(userNameOfUserId(JSON.parse('1193046900000000001'))).not.toBeTypeOf('string')
  })

  it('is ignored in a message that is ignored', () => {
    expect(readText('{"userId":1e19,"messageId":1e19}', 'page').outcome).toBe('ignored')
    expect(readText('{"anonymousId":1e19}', 'track').outcome).toBe('ignored')
    expect(readText('{"userId":"ada","anonymousId":1e19}', 'track').outcome).toBe('track')
  })
})

describe('a message that is too large', () => {
  it.each(['identify', 'track', 'page'])('is refused before anything in it is read: %s', (type) => {
    expect(read(messageOf(32_768), type).outcome).not.toBe('rejected')
    expect(read(messageOf(32_769), type)).toMatchObject({ outcome: 'rejected', reason: 'messageBytes' })
  })

  it.each(['sentAt', 'writeKey', 'type'])('is measured with its %s', (name) => {
    expect(read({ [name]: '', ...messageOf(32_768 - `"${name}":"",`.length) }).outcome).toBe('identify')
    expect(read({ [name]: 'ü', ...messageOf(32_767 - `"${name}":"",`.length) })).toMatchObject({
      reason: 'messageBytes',
    })
    expect(read({ [name]: 'x'.repeat(40_000) })).toMatchObject({ reason: 'messageBytes' })
  })

  it('is measured after its depth', () => {
    let deep: object = {}
    for (let level = 0; level < 100_000; level += 1) deep = { deep }
    expect(read({ userId: 'ada', deep })).toMatchObject({
      outcome: 'rejected',
      message: expect.stringContaining('nested'),
    })
  })
})

describe('the context of a message', () => {
  it('becomes device facts, as far as the device table allows', () => {
    const context = {
      locale: 'de-DE',
      timezone: 'Mars/Olympus',
      os: { name: 'iPadOS', version: '19.1' },
      app: { name: 'Shop', version: 2 },
      device: { id: 'd', type: 'ios', name: 'x' },
      ip: '10.0.0.1',
    }
    expect(read({ userId: 'ada', context })).toMatchObject({
      identify: {
        $deviceInfo: {
          $deviceLanguage: 'de-DE',
          $deviceOs: 'iOS',
          $deviceOsVersion: '19.1',
          $app: 'Shop',
          $deviceId: 'd',
          $deviceType: 'native',
        },
      },
    })
    const { content: _whole, ...recorded } = { content: '', ...read({ userId: 'ada', context }) }
    expect(JSON.stringify(recorded)).not.toContain('10.0.0.1')
  })

  it.each([[undefined], ['x'], [{ os: 'x', app: null, device: [] }]])('may have any value: %j', (context) => {
    expect(read({ userId: 'ada', context })).toMatchObject({ identify: { $deviceInfo: {} } })
  })
})
