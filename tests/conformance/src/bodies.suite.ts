import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { call, callerOf, errorOf, JSON_TYPE } from './call.ts'
import { casesOf, describeCases } from './describe-cases.ts'
import { keyNamed } from '@nextvisit/testing/black-box'
import { sendRaw } from './send-raw.ts'

const KEY = ['x-api-key', keyNamed('SHOP_ADMIN_P')]
const MAX = 102_400
const IDENTIFY = '/v2/admin/identify-user'
const TRACK = '/v2/admin/track-event'

/** Returns a body of exactly this many bytes, padded with an ignored member. */
function bodyOf(bytes: number, filling = 'x'): string {
  const empty = JSON.stringify({ userName: 'bodies', eventName: 'filled', filling: '' })
  const room = bytes - Buffer.byteLength(empty)
  const text = filling.repeat(Math.floor(room / Buffer.byteLength(filling)))
  return empty.replace('""', `"${text}${'x'.repeat(room - Buffer.byteLength(text))}"`)
}

async function* chunked(body: string | Buffer) {
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000)
}

const send = (path: string, body: string | Buffer | AsyncIterable<Buffer>, ...headers: string[]) =>
  call({ path, headers: [...KEY, ...JSON_TYPE, ...headers], body })
const gzip = ['content-encoding', 'gzip']

/** Returns a body nested to this depth; the object itself is level 1. */
const nested = (depth: number, open: string, close: string) =>
  `{"userName":"bodies","ignored":${open.repeat(depth - 1)}1${close.repeat(depth - 1)}}`

const ignored = (value: unknown) => ({ userName: 'bodies', ignored: value })
const arrays = (levels: number): unknown => (levels === 0 ? 1 : [arrays(levels - 1)])
const objects = (levels: number): unknown => (levels === 0 ? 1 : { a: objects(levels - 1) })

const traits = (userAttributes: object) => ({ userName: 'bodies', userAttributes })
const UNSTORABLE = [
  ['the userName', { userName: 'a\u0000' }],
  ['the userName, a high surrogate', { userName: '\ud83d' }],
  ['the userName, a low surrogate', { userName: 'a\udf89b' }],
  ['the userName, a pair the wrong way round', { userName: '\udf89\ud83d' }],
  ['a trait value', traits({ $set: { a: '\u0000' } })],
  ['an item of an array', traits({ $set: { a: ['x', '\uD800'] } })],
  ['a trait key', traits({ $set: { '\u0000': 1 } })],
  ['a trait key to unset', traits({ $unset: ['\udc00'] })],
  ['an ignored member', ignored({ deep: ['\u0000'] })],
  ['the name of an ignored member', { userName: 'bodies', '\ud800': 1 }],
] as const

const withApp = ($app: string) => ({ userName: 'bodies', $deviceInfo: { $app } })

/** Tests the contract, Common to both endpoints; decisions.md, Order of checks. */
export function describeBodies(): void {
  const shop = callerOf('SHOP_ADMIN_P')

  describe('Content-Type: application/json is required, else 415', () => {
    it.each([
      'text/plain',
      'text/json',
      'application/jsonp',
      'application/json-seq',
      'application/ld+json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'json',
      '*/*',
      'application/json; charset=latin1',
      'application/json; charset=utf-16',
      'application/json; charset=utf8; charset=latin1',
      'application/json; charset=',
      'application/json, text/plain',
    ])('%s', async (type) => {
      for (const path of [IDENTIFY, TRACK])
        expect(await call({ path, headers: [...KEY, 'content-type', type], body: bodyOf(200) })).toMatchObject(
          errorOf(415),
        )
    })

    it('missing', async () => {
      expect(await call({ path: IDENTIFY, headers: KEY, body: bodyOf(200) })).toMatchObject(errorOf(415))
    })

    it.each([
      'application/json',
      'APPLICATION/JSON',
      'application/json;charset=utf-8',
      'application/json; charset=UTF-8',
      'application/json; charset="utf-8"',
      'application/json ; charset=utf-8',
      'application/json; charset=utf8',
      'application/json; charset=utf8mb4',
      "application/json; charset='UTF8'",
      'application/json; charset=us-ascii',
      'application/json; odata.metadata=minimal; charset=utf-8',
    ])('accepts %s', async (type) => {
      expect((await call({ path: IDENTIFY, headers: [...KEY, 'content-type', type], body: bodyOf(200) })).status).toBe(
        200,
      )
    })
  })

  describe('maximum body size is 100 KB, 102,400 bytes; a larger body gets 413', () => {
    it.each<readonly [string, number, number, () => string | Buffer | AsyncIterable<Buffer>, readonly string[]]>([
      ['n-1 bytes', 200, 202, () => bodyOf(MAX - 1), []],
      ['n bytes', 200, 202, () => bodyOf(MAX), []],
      ['n+1 bytes', 413, 413, () => bodyOf(MAX + 1), []],
      ['n bytes, mostly emoji', 200, 202, () => bodyOf(MAX, '🎉'), []],
      ['n+1 bytes in fewer characters', 413, 413, () => bodyOf(MAX + 1, '🎉'), []],
      ['n bytes in chunks', 200, 202, () => chunked(bodyOf(MAX)), []],
      ['n+1 bytes in chunks', 413, 413, () => chunked(bodyOf(MAX + 1)), []],
      ['300 KB', 413, 413, () => bodyOf(300_000), []],
      ['n bytes after gzip', 200, 202, () => gzipSync(bodyOf(MAX)), gzip],
      ['n+1 bytes after gzip', 413, 413, () => gzipSync(bodyOf(MAX + 1)), gzip],
      ['n+1 bytes after gzip, in chunks', 413, 413, () => chunked(gzipSync(bodyOf(MAX + 1))), gzip],
      ['100 MB after gzip', 413, 413, () => gzipSync(Buffer.alloc(100_000_000)), gzip],
      [
        'two members of gzip, n+1 bytes together',
        413,
        413,
        () => Buffer.concat([gzipSync(bodyOf(MAX)), gzipSync(' ')]),
        gzip,
      ],
    ])('%s: %d and %d', async (_name, identified, tracked, body, headers) => {
      await shop.identify({ userName: 'bodies' })
      expect((await send(IDENTIFY, body(), ...headers)).status).toBe(identified)
      expect((await send(TRACK, body(), ...headers)).status).toBe(tracked)
    })

    it('by Content-Length, before the body is sent', async () => {
      const head = `POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${KEY[1]}\r\nContent-Type: application/json\r\n`
      expect(await sendRaw(`${head}Content-Length: 102401\r\n\r\n`)).toMatchObject([errorOf(413)])
    })

    it('arrives while the body is still being sent, and the connection can be used again', async () => {
      const head = `POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${KEY[1]}\r\nContent-Type: application/json\r\n`
      const large = `${head}Content-Length: 500000\r\n\r\n${'x'.repeat(500_000)}`
      const small = `${head}Content-Length: 21\r\n\r\n{"userName":"bodies"}`
      expect(await sendRaw(large + small, 2)).toMatchObject([errorOf(413), { status: 200 }])
    })

    it('with Expect: 100-continue, 413 instead of 100', async () => {
      const head = `POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${KEY[1]}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n`
      expect(await sendRaw(`${head}Content-Length: 102401\r\n\r\n`)).toMatchObject([errorOf(413)])
      const small = `${head}Content-Length: 21\r\n\r\n{"userName":"bodies"}`
      expect(await sendRaw(small, 2)).toMatchObject([{ status: 100 }, { status: 200 }])
    })
  })

  it('400 for invalid chunks, in the error form', async () => {
    const head = `POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${KEY[1]}\r\nContent-Type: application/json\r\n`
    expect(await sendRaw(`${head}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n`)).toMatchObject([errorOf(400)])
  })

  describe('Content-Encoding', () => {
    it.each(['gzip', 'GZIP', 'identity'])('accepts %s', async (encoding) => {
      const body = encoding === 'identity' ? bodyOf(200) : gzipSync(bodyOf(200))
      expect((await send(IDENTIFY, body, 'content-encoding', encoding)).status).toBe(200)
    })

    it.each(['br', 'deflate', 'zstd', 'gzip, gzip', 'nothing'])('415 for %s', async (encoding) => {
      expect(await send(IDENTIFY, deflateSync(bodyOf(200)), 'content-encoding', encoding)).toMatchObject(errorOf(415))
    })

    it.each([
      ['not gzip', Buffer.from('{"userName":"bodies"}')],
      ['truncated gzip', gzipSync(bodyOf(200)).subarray(0, 60)],
      ['an empty body', Buffer.alloc(0)],
    ])('400 for %s under gzip', async (_name, body) => {
      expect(await send(IDENTIFY, body, ...gzip)).toMatchObject(errorOf(400))
    })

    it('415 or 400 for gzip without Content-Encoding', async () => {
      expect(await send(IDENTIFY, gzipSync(bodyOf(200)))).toMatchObject(errorOf(400))
    })
  })

  describe('JSON (400)', () => {
    it.each<readonly [string, string | Buffer]>([
      ['no body', ''],
      ['white space', '  '],
      ['an open object', '{"userName":"bodies"'],
      ['an array', '[{"userName":"bodies"}]'],
      ['null', 'null'],
      ['a string', '"bodies"'],
      ['a number', '1'],
      ['true', 'true'],
      ['two objects', '{"userName":"bodies"}{}'],
      ['a comma at the end', '{"userName":"bodies",}'],
      ['single quotes', "{'userName':'bodies'}"],
      ['NaN', '{"userName":"bodies","x":NaN}'],
      ['a comment', '{"userName":"bodies"/**/}'],
      ['a form', 'userName=bodies'],
      [
        'bytes that are not UTF-8',
        Buffer.concat([Buffer.from('{"userName":"'), Buffer.from([0xff]), Buffer.from('"}')]),
      ],
      [
        'a surrogate as bytes',
        Buffer.concat([Buffer.from('{"userName":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
      ],
      ['a raw line break in a string', '{"userName":"a\nb"}'],
    ])('%s', async (_name, body) => {
      for (const path of [IDENTIFY, TRACK]) expect(await send(path, body)).toMatchObject(errorOf(400))
    })
  })

  describeCases('any string that contains U+0000 or a lone surrogate', 'SHOP', [
    ...casesOf('identify', UNSTORABLE, (body: object) => body, { expected: errorOf(400) }),
    ...casesOf('identify', [['a device member, which a visit drops', '\u0000']], withApp, {
      expected: errorOf(400),
      bySdk: { status: 200, body: { message: 'ok' } },
    }),
    ...casesOf('track', [['in eventName', 'a\u0000']], (eventName) => ({ userName: 'bodies', eventName }), {
      expected: errorOf(400),
    }),
  ])

  it('a lone surrogate as an escape in upper case: 400', async () => {
    const body = '{"userName":"bodies","userAttributes":{"$set":{"a":["x","\\uD800"]}}}'
    expect(await send(IDENTIFY, body)).toMatchObject(errorOf(400))
  })

  it('an escaped pair, and an escaped backslash before u0000, are ordinary', async () => {
    expect((await send(IDENTIFY, '{"userName":"bodies","x":"\\ud83c\\udf89 \\\\u0000 \\\\ud800"}')).status).toBe(200)
  })

  describeCases('nesting deeper than 8', 'SHOP', [
    ...casesOf(
      'identify',
      [
        ['8 arrays', arrays(7)],
        ['8 objects', objects(7)],
      ],
      ignored,
      {
        expected: { status: 200, body: {} },
      },
    ),
    ...casesOf(
      'identify',
      [
        ['9 arrays', arrays(8)],
        ['9 objects', objects(8)],
      ],
      ignored,
      { expected: errorOf(400) },
    ),
  ])

  describe('nesting as text', () => {
    it.each([
      ['arrays', '[', ']'],
      ['objects', '{"a":', '}'],
    ])('10,000 %s: 400', async (_name, open, close) => {
      expect(await send(IDENTIFY, nested(10_000, open, close))).toMatchObject(errorOf(400))
    })

    it('brackets in strings do not count as nesting', async () => {
      expect((await send(IDENTIFY, `{"userName":"bodies","ignored":"${'[{\\"'.repeat(50)}"}`)).status).toBe(200)
    })
  })

  it('unknown top-level properties are ignored, with any value', async () => {
    const unknown = { id: 1, traits: { $set: 1 }, userId: null, constructor: 'x', $set: { a: {} } }
    expect((await send(IDENTIFY, JSON.stringify({ userName: 'bodies', ...unknown }))).status).toBe(200)
    expect((await send(IDENTIFY, '{"userName":"bodies","__proto__":{"userAttributes":1}}')).status).toBe(200)
    expect((await send(TRACK, JSON.stringify({ userName: 'bodies', eventName: 'filled', ...unknown }))).status).toBe(
      202,
    )
  })

  it('if a member occurs twice, the last one counts, as in JSON.parse', async () => {
    expect(await send(IDENTIFY, '{"userName":"bodies","userName":""}')).toMatchObject(
      errorOf(401, 'userName not found'),
    )
  })
}
