import { describe, expect, it } from 'vitest'
import { callerOf, errorOf } from './call.ts'
import { settledUser } from './settled-user.ts'

const PROJECTS = ['TWIN_A_ADMIN_P', 'TWIN_BLOG_ADMIN_P', 'TWIN_B_ADMIN_P']

/**
 * Tests decisions.md, Words: a user is unique within an organization and project; project ids are unique only within an
 * organization.
 */
export function describeIsolation(): void {
  describe('three projects with the same names', () => {
    const twins = PROJECTS.map((variable) => callerOf(variable))

    it('have separate users, traits and events', async () => {
      const ids = []
      for (const [index, { identify, track }] of twins.entries()) {
        expect(await track({ userName: `only-${index}`, eventName: 'x' })).toMatchObject(errorOf(404))
        const userAttributes = { $set: { plan: index }, $increment: { visits: index + 1 } }
        ids.push((await identify({ userName: 'ada', userAttributes })).body['userId'])
        for (let i = 0; i <= index; i += 1)
          expect((await track({ userName: 'ada', eventName: 'Signed In' })).body['newEvent']).toBe(i === 0)
        await identify({ userName: `only-${index}` })
      }
      expect(new Set(ids).size).toBe(3)
      for (const [index, twin] of twins.entries()) {
        expect(await settledUser(twin, 'ada')).toMatchObject({
          userId: ids[index],
          traits: { plan: index, visits: index + 1 },
          events: { signed_in: { count: index + 1 } },
        })
        for (const other of [0, 1, 2].filter((project) => project !== index)) {
          expect(await twin.readUser(`only-${other}`)).toMatchObject(errorOf(404))
          expect(await twin.track({ userName: `only-${other}`, eventName: 'Signed In' })).toMatchObject(errorOf(404))
        }
      }
    })
  })
}
