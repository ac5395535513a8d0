import { describe, expect, it } from 'vitest'
import { call, errorOf, JSON_TYPE } from './call.ts'
import { keyNamed, withChecksum } from '@nextvisit/testing/black-box'

const INVALID = 'Invalid or missing API key'
const ADMIN = keyNamed('SHOP_ADMIN_P')
const SDK = keyNamed('SHOP_SDK_P')
const BODY = '{"userName":"keys"}'

const identifyWith = (headers: readonly string[], path = '/v2/admin/identify-user') =>
  call({ path, headers: [...JSON_TYPE, ...headers], body: BODY })

/** Tests the contract, Authentication; decisions.md, Keys. */
export function describeKeys(): void {
  describe('an invalid or missing API key gets 401, always with the same message', () => {
    it.each<readonly [string, readonly string[]]>([
      ['missing', []],
      ['empty', ['x-api-key', '']],
      ['not a key', ['x-api-key', 'secret']],
      ['the key with an extra character', ['x-api-key', `${ADMIN}0`]],
      ['the key with a character missing', ['x-api-key', ADMIN.slice(0, -1)]],
      ['a wrong checksum', ['x-api-key', ADMIN.slice(0, -1) + (ADMIN.endsWith('0') ? '1' : '0')]],
      ['a typo before the checksum', ['x-api-key', ADMIN.replace('P_', 'T_')]],
      ['well-formed but unknown', ['x-api-key', withChecksum(`nv_admin_P_${'0'.repeat(32)}`)]],
      ['well-formed but unknown, an SDK key', ['x-api-key', withChecksum(`nv_sdk_P_${'0'.repeat(32)}`)]],
      ['lower case', ['x-api-key', ADMIN.toLowerCase()]],
      ['in quotes', ['x-api-key', `"${ADMIN}"`]],
      ['sent twice', ['x-api-key', ADMIN, 'x-api-key', ADMIN]],
      ['sent twice, one of them wrong', ['x-api-key', ADMIN, 'x-api-key', 'x']],
      ['in another header', ['authorization', `Bearer ${ADMIN}`]],
      ['not ASCII', ['x-api-key', 'ключ'.replace(/./g, 'é')]],
    ])('%s', async (_name, headers) => {
      for (const path of [
        '/v2/admin/identify-user',
        '/v2/admin/track-event',
        '/v2/sdk/identify-user',
        '/v2/sdk/track-event',
        '/v2/admin/answers',
        '/v2/sdk/answers',
      ])
        expect(await identifyWith(headers, path)).toMatchObject(errorOf(401, INVALID))
    })

    it('in the query', async () => {
      expect(await identifyWith([], `/v2/admin/identify-user?X-Api-Key=${ADMIN}`)).toMatchObject(errorOf(401, INVALID))
    })

    it.each([
      '/v2/admin/users/ada',
      '/v2/admin/users/ada/forms',
      '/v2/admin/users?userName=ada',
      '/v2/admin/usage',
      '/v2/admin/traits',
      '/v2/admin/refusals',
      '/v2/admin/events',
    ])('GET %s without a key', async (path) => {
      expect(await call({ method: 'GET', path })).toMatchObject(errorOf(401, INVALID))
    })
  })

  describe('a key of the other kind gets 403', () => {
    it.each([
      ['POST', '/v2/admin/identify-user', SDK],
      ['POST', '/v2/admin/track-event', SDK],
      ['POST', '/v2/admin/answers', SDK],
      ['GET', '/v2/admin/users/ada', SDK],
      ['GET', '/v2/admin/users/ada/forms', SDK],
      ['GET', '/v2/admin/users?userName=ada', SDK],
      ['GET', '/v2/admin/usage', SDK],
      ['GET', '/v2/admin/traits', SDK],
      ['GET', '/v2/admin/refusals', SDK],
      ['GET', '/v2/admin/events', SDK],
      ['POST', '/v2/sdk/identify-user', ADMIN],
      ['POST', '/v2/sdk/track-event', ADMIN],
      ['POST', '/v2/sdk/answers', ADMIN],
    ] as const)('%s %s', async (method, path, key) => {
      expect(await call({ method, path, headers: [...JSON_TYPE, 'x-api-key', key] })).toMatchObject(errorOf(403))
    })

    it('and so does a publishable key of environment T', async () => {
      expect(await identifyWith(['x-api-key', keyNamed('SHOP_SDK_T')])).toMatchObject(errorOf(403))
    })
  })

  describe('every live key of a project works', () => {
    it.each(['SHOP_ADMIN_P', 'SHOP_ADMIN_T', 'SHOP_ROTATED_ADMIN_P'])(
      '%s (P and T, two at a time for rotation)',
      async (variable) => {
        expect((await identifyWith(['x-api-key', keyNamed(variable)])).status).toBe(200)
      },
    )

    it('in a header name of any case, with white space around it', async () => {
      expect((await identifyWith(['X-API-KEY', ` ${ADMIN} `])).status).toBe(200)
    })
  })
}
