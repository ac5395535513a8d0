import { describe, expect, it } from 'vitest'
import { call, type ApiCall, errorOf, JSON_TYPE } from './call.ts'
import { keyNamed } from '@nextvisit/testing/black-box'

// Each request contains an error and later ones in the order of checks, and must be answered with the first.
const KEY = ['x-api-key', keyNamed('SHOP_ADMIN_P')]
const SDK_KEY = ['x-api-key', keyNamed('SHOP_SDK_P')]
const WRONG_TYPE = ['content-type', 'text/plain']
const ENCODED = ['content-encoding', 'br']
const OVERSIZED_BROKEN_JSON = `{"userName":"",${' '.repeat(102_401)}`
const BROKEN_JSON = '{"userName":"",'
const IDENTIFY = '/v2/admin/identify-user'
const TRACK = '/v2/admin/track-event'

async function* chunks(text: string) {
  for (let at = 0; at < text.length; at += 16_384) yield Buffer.from(text.slice(at, at + 16_384))
}

/** Tests decisions.md, Order of checks. */
export function describeOrderOfChecks(): void {
  describe('order of checks: the first error decides the answer', () => {
    it.each<readonly [string, number, ApiCall]>([
      [
        'route before key, type, size and JSON',
        404,
        { path: '/v2/admin/nothing', headers: WRONG_TYPE, body: OVERSIZED_BROKEN_JSON },
      ],
      [
        'method before key, type, size and JSON',
        405,
        { method: 'PUT', path: IDENTIFY, headers: WRONG_TYPE, body: OVERSIZED_BROKEN_JSON },
      ],
      ['key before type, size and JSON', 401, { path: IDENTIFY, headers: WRONG_TYPE, body: OVERSIZED_BROKEN_JSON }],
      ['key before size and JSON', 401, { path: IDENTIFY, headers: JSON_TYPE, body: OVERSIZED_BROKEN_JSON }],
      ['key before JSON', 401, { path: TRACK, headers: JSON_TYPE, body: BROKEN_JSON }],
      ['key before the body rules', 401, { path: TRACK, headers: JSON_TYPE, body: '{}' }],
      [
        'kind of key before type, size and JSON',
        403,
        { path: IDENTIFY, headers: [...SDK_KEY, ...WRONG_TYPE], body: OVERSIZED_BROKEN_JSON },
      ],
      ['kind of key before the body rules', 403, { path: IDENTIFY, headers: [...SDK_KEY, ...JSON_TYPE], body: '{}' }],
      [
        'type before size and JSON',
        415,
        { path: IDENTIFY, headers: [...KEY, ...WRONG_TYPE], body: OVERSIZED_BROKEN_JSON },
      ],
      ['type before JSON', 415, { path: TRACK, headers: [...KEY, ...WRONG_TYPE], body: BROKEN_JSON }],
      ['type before the body rules', 415, { path: IDENTIFY, headers: [...KEY, ...WRONG_TYPE], body: '{}' }],
      ['type before a missing body', 415, { path: TRACK, headers: KEY }],
      [
        'encoding before size',
        415,
        { path: IDENTIFY, headers: [...KEY, ...JSON_TYPE, ...ENCODED], body: OVERSIZED_BROKEN_JSON },
      ],
      ['size before JSON', 413, { path: IDENTIFY, headers: [...KEY, ...JSON_TYPE], body: OVERSIZED_BROKEN_JSON }],
      [
        'size before JSON, in chunks',
        413,
        { path: TRACK, headers: [...KEY, ...JSON_TYPE], body: chunks(OVERSIZED_BROKEN_JSON) },
      ],
      ['JSON before the body rules', 400, { path: IDENTIFY, headers: [...KEY, ...JSON_TYPE], body: BROKEN_JSON }],
    ])('%s: %d', async (_name, status, request) => {
      expect(await call(request)).toMatchObject(errorOf(status))
    })
  })
}
