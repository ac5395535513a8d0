import { describe, expect, it } from 'vitest'
import { identityOfLine, type ImportLine, importedRecordId, parseImportLine } from './import-line.ts'
import { MAX_LINE_BYTES } from './import-rules.ts'

const NOW = Date.parse('2026-11-02T10:00:00.000Z')
const parse = (line: object | string) =>
  parseImportLine(Buffer.from(typeof line === 'string' ? line : JSON.stringify(line)), NOW)
const track = (special: object = {}) => ({
  type: 'track',
  userName: 'ada',
  eventName: 'Signed Up',
  occurredAt: '1999-12-31T23:59:59+01:00',
  ...special,
})
const rejected = (words: string) => ({ outcome: 'rejected', message: expect.stringContaining(words) })

function lineOf(line: object): ImportLine {
  const parsed = parse(line)
  if (parsed.outcome !== 'ok') throw new Error(parsed.message)
  return parsed.line
}

describe('a line of history (decisions.md, Import)', () => {
  it('has the body of an admin route and a time of any age since 1970', () => {
    expect(lineOf(track({ occurredAt: '1970-01-01T00:00:00Z' }))).toMatchObject({
      body: { occurredAt: '1970-01-01T00:00:00.000Z' },
    })
    expect(lineOf(track())).toMatchObject({
      type: 'track',
      body: { userName: 'ada', slug: 'signed_up', occurredAt: '1999-12-31T22:59:59.000Z' },
    })
    const identify = { type: 'identify', userName: 'ada', userAttributes: { $set: { plan: 'pro' } } }
    expect(lineOf({ ...identify, occurredAt: '2001-01-01T00:00Z' })).toMatchObject({
      body: { changes: [{ operator: 'set', slug: 'plan', value: 'pro' }] },
      occurredAt: '2001-01-01T00:00:00.000Z',
    })
    expect(lineOf(identify)).toMatchObject({ occurredAt: undefined })
  })

  it.each([
    ['x', 'The line must be JSON'],
    ['[1]', 'The line must be a JSON object'],
    ['{"a":"\\u0000"}', 'U+0000'],
    [{ userName: 'ada' }, 'type must be "identify" or "track"'],
    [{ type: 'visit' }, 'type must be'],
    [{ type: 'identify' }, 'userName not found'],
    [{ type: 'identify', userName: 'ada', occurredAt: 5 }, 'occurredAt must be a string'],
    [
      { type: 'identify', userName: 'ada', occurredAt: '2026-11-02T10:06:00Z' },
      'occurredAt must be no more than 5 minutes',
    ],
    [{ type: 'identify', userName: 'ada', userAttributes: { $set: { plan: {} } } }, 'userAttributes.$set.plan'],
    [
      { type: 'identify', userName: 'ada', occurredAt: '0001-01-01T00:00:00Z' },
      'occurredAt must be 1970-01-01 or later',
    ],
    [track({ occurredAt: '1969-12-31T23:59:59.999Z' }), 'occurredAt must be 1970-01-01 or later'],
    [track({ occurredAt: '0000-01-01T00:00:00Z' }), 'occurredAt must be 1970-01-01 or later'],
    [track({ occurredAt: '-1000000000-01-01T00:00:00Z' }), 'occurredAt must be 1970-01-01 or later'],
    [track({ occurredAt: '+010000-01-01T00:00:00Z' }), 'occurredAt must be no more than 5 minutes'],
    ['{"type":"identify","userName":"ada","userAttributes":{"$set":{"id":1193046900000000099}}}', '$set.id must be'],
    [
      '{"type":"track","userName":"ada","eventName":"a","occurredAt":"2001-01-01T00:00Z","properties":{"ids":[12345678901234567890]}}',
      'properties.ids[0] must be a finite number that is kept without rounding',
    ],
    [track({ occurredAt: undefined }), 'occurredAt is required'],
    [track({ occurredAt: '2020-01-01' }), 'occurredAt must be an ISO 8601'],
    [track({ eventName: 'form:x' }), 'eventName must not begin with form:'],
    [track({ properties: { total: { in: { eur: { and: { cents: {} } } } } } }), 'properties.total.in.eur.and.cents'],
    [track({ id: 7 }), 'id must be a string of 1 to 255 characters'],
    [track({ id: '' }), 'id must be'],
    [track({ note: 'x'.repeat(MAX_LINE_BYTES) }), `at most ${MAX_LINE_BYTES} bytes`],
  ])('is refused with the wrong member: %j', (line, message) => {
    expect(parse(line)).toMatchObject(rejected(message))
  })
})

describe("the id of an imported line's record", () => {
  const place = { organization: 'acme', project: 'shop' }
  const idOf = (line: object, ordinal = 0, where = place) =>
    importedRecordId(where, identityOfLine(lineOf(line)), ordinal)

  it('is equal for lines of equal meaning', () => {
    const one = idOf(track())
    expect(idOf(track())).toBe(one)
    expect(idOf(track({ occurredAt: '1999-12-31T22:59:59.000Z', unknown: 1 }))).toBe(one)
  })

  it('does not depend on absent properties', () => {
    expect(idOf(track())).toBe('614f0b6f-6540-525b-b5c0-d1ff980064fb')
  })

  it('differs for another line, project or ordinal', () => {
    const lines = [
      track(),
      track({ userName: 'bob' }),
      track({ eventName: 'signed_up' }),
      track({ occurredAt: '1999-12-31T23:59:58Z' }),
      track({ properties: {} }),
      track({ properties: { total: 1 } }),
      track({ properties: { total: 2 } }),
      track({ id: 'a' }),
      track({ id: 'b' }),
      { type: 'identify', userName: 'ada' },
      { type: 'identify', userName: 'ada', occurredAt: '2001-01-01T00:00:00Z' },
      { type: 'identify', userName: 'ada', userAttributes: { $set: { a: 1 } } },
      { type: 'identify', userName: 'ada', userAttributes: { $setOnce: { a: 1 } } },
      { type: 'identify', userName: 'ada', $deviceInfo: { $app: 'a' } },
    ]
    const ids = [...lines.map((line) => idOf(line)), idOf(track(), 1), idOf(track(), 0, { ...place, project: 'blog' })]
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('depends on nothing else if the line has an id', () => {
    expect(idOf(track({ id: 'a', eventName: 'Other' }))).toBe(idOf(track({ id: 'a' })))
  })
})
