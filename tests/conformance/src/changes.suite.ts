import { describe, expect, it } from 'vitest'
import { eventually } from '@nextvisit/testing/black-box'
import { type ApiAnswer, callerOf, errorOf } from './call.ts'
import { applyWorkspaceFile } from './product.ts'
import { settledUser } from './settled-user.ts'

/** Returns the fixture's project with these keys and other changes. */
const changed = (keys: readonly string[], besides = '') => `
organizations:
  - id: changing
    projects:
      - id: shop
        rateLimits: { admin: { perSecond: 5000, burst: 10000 } }
        keys: [${keys.map((variable) => `{ name: ${variable}, kind: admin, environment: P, secret: $${variable} }`).join(', ')}]
        ${besides}
`

const nothingWaits = ({ body }: ApiAnswer) => (body['waitingForms'] as unknown[]).length === 0

/** Tests decisions.md, Keys and The workspace file: the effects on callers while a file is applied. */
export function describeChanges(): void {
  const old = callerOf('CHANGING_OLD_ADMIN_P')
  const young = callerOf('CHANGING_NEW_ADMIN_P')
  const invalid = errorOf(401, 'Invalid or missing API key')

  describe('applying a workspace file', () => {
    it('rotates keys: both work, then the old one is revoked and gets the usual 401', async () => {
      const body = { userName: 'ada', userAttributes: { $set: { off: 1, on: 1 } } }
      expect((await old.identify(body)).status).toBe(200)
      expect(await young.identify(body)).toMatchObject(invalid)
      expect((await old.track({ userName: 'ada', eventName: 'Bought' })).body).toMatchObject({ formsQueued: 1 })

      await applyWorkspaceFile(
        changed(
          ['CHANGING_OLD_ADMIN_P', 'CHANGING_NEW_ADMIN_P'],
          'forms: [{ id: waits, triggers: [{ event: bought }] }]',
        ),
      )
      for (const { identify } of [old, young]) expect((await identify(body)).status).toBe(200)

      await applyWorkspaceFile(
        changed(
          ['CHANGING_NEW_ADMIN_P'],
          'traits: [{ slug: off, enabled: false }]\n        events: [{ slug: bought, enabled: false }]',
        ),
      )
      expect(await old.identify(body)).toMatchObject(invalid)
      expect(await old.get('/v2/admin/users/ada')).toMatchObject(invalid)
      expect((await young.identify(body)).status).toBe(200)
    })

    it('disables slugs that are in use: existing values stay, new ones are dropped or refused', async () => {
      await young.identify({ userName: 'ada', userAttributes: { $set: { off: 2, on: 2 }, $unset: ['off'] } })
      await young.identify({ userName: 'bob', userAttributes: { $set: { off: 2, on: 2 } } })
      expect((await settledUser(young, 'ada'))['traits']).toEqual({ off: 1, on: 2 })
      expect((await settledUser(young, 'bob'))['traits']).toEqual({ on: 2 })
      expect(await young.track({ userName: 'ada', eventName: 'BOUGHT' })).toMatchObject(errorOf(400))
    })

    it('cancels the waiting rows of a removed form', async () => {
      const { body } = await eventually(() => young.readUser('ada'), nothingWaits, 10_000)
      expect(body['waitingForms']).toEqual([])
    })

    it('computes a new segment for existing users, and no longer shows a removed one', async () => {
      const listed = async () => (await young.get('/v2/admin/segments')).body['segments']
      expect(await listed()).toEqual([])
      await applyWorkspaceFile(
        changed(['CHANGING_NEW_ADMIN_P'], 'segments: [{ id: switched-on, where: { trait: on, atLeast: 2 } }]'),
      )
      await expect
        .poll(listed, { timeout: 60_000 })
        .toEqual([{ id: 'switched-on', name: null, members: 2, usersComputed: 2, usersTotal: 2 }])
      expect((await young.readUser('ada')).body['segments']).toEqual(['switched-on'])
      await applyWorkspaceFile(changed(['CHANGING_NEW_ADMIN_P']))
      expect((await young.readUser('ada')).body['segments']).toEqual([])
      expect(await young.get('/v2/admin/segments/switched-on/users')).toMatchObject(errorOf(404, 'Segment not found'))
    })

    it('does not change organizations that it does not name', async () => {
      expect((await callerOf('SHOP_ADMIN_P').identify({ userName: 'ada' })).status).toBe(200)
    })
  })
}
