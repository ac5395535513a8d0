import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { keyNamed } from '@nextvisit/testing/black-box'
import { describeAnswersGiven } from './browser-answers.suite.ts'
import { describeFormsShown } from './browser-forms.suite.ts'
import {
  ANY_REQUEST,
  buyAs,
  type Display,
  FORM,
  HOUR_MS,
  PATIENTLY,
  purchasesOf,
  see,
  type Shop,
  type ShopProfile,
  type ShopProject,
  shownBy,
  startShop,
  subscribeAs,
  TRACK,
  VISIT,
  visitsOf,
} from './shop-page.ts'

/** Tests `@nextvisit/web` in a real browser with the example application in examples/web (packages/web/README.md). */
export function describeBrowser(): void {
  describe('a browser', { timeout: 60_000 }, () => {
    let shop: Shop
    let userName: string
    beforeAll(async () => {
      shop = await startShop()
    }, 120_000)
    afterAll(() => shop?.stop())
    beforeEach(() => {
      userName = `browser-${randomUUID()}`
    })

    /** Opens a profile, which ends with the test and must have no errors in its pages. */
    async function profileOf(project: ShopProject, display?: Display): Promise<ShopProfile> {
      const profile = await shop.newProfile(project, userName, display)
      onTestFinished(async () => {
        await profile.context.close()
        expect(profile.errors).toEqual([])
      })
      return profile
    }

    const buy = (project: ShopProject) => buyAs(userName, project)
    const purchases = (project: ShopProject) => purchasesOf(userName, project)

    describe('visits', () => {
      it('bring the form that the back end queued, once', async () => {
        await buy('NEXT_PAGE')
        const { open } = await profileOf('NEXT_PAGE')
        const first = await open()
        expect(await shownBy(first)).toEqual([FORM])
        await first.page.getByText(`Form ${FORM}: how likely are you to recommend us?`).waitFor()
        await first.run('nextvisit.visit()')
        await first.page.reload()
        await first.run('nextvisit.visit()')
        expect(await shownBy(first)).toEqual([FORM])
      })

      it('are repeated after pingAgainIn, while the page is visible', async () => {
        const shopPage = await (await profileOf('NEXT_PAGE')).open()
        await buy('NEXT_PAGE')
        await shopPage.pass(HOUR_MS)
        expect(await shownBy(shopPage)).toEqual([FORM])
        await shopPage.run(see('hidden'))
        await shopPage.pass(HOUR_MS)
        await shopPage.run(ANY_REQUEST)
        expect(visitsOf(shopPage)).toBe(2)
        await shopPage.run(see('visible'))
        await expect.poll(() => visitsOf(shopPage), PATIENTLY).toBe(3)
      })

      it.each([
        ['the Navigation API', ''],
        ['pushState', 'delete globalThis.navigation'],
      ])('are repeated at the next page, detected by %s, with pingOnNextPageVisit', async (_by, prepare) => {
        const { open, context } = await profileOf('NEXT_PAGE')
        await context.addInitScript(prepare)
        const shopPage = await open()
        await buy('NEXT_PAGE')
        await shopPage.page.getByText('Basket').click()
        expect(await shownBy(shopPage)).toEqual([FORM])
        await shopPage.page.goBack()
        await expect.poll(() => visitsOf(shopPage), PATIENTLY).toBe(3)
      })

      it('are not repeated at the next page without it, nor after close', async () => {
        const asked = await (await profileOf('DELAYED')).open()
        const closed = await (await profileOf('NEXT_PAGE')).open()
        await closed.run('nextvisit.close()')
        for (const shopPage of [asked, closed]) {
          await shopPage.page.getByText('Basket').click()
          await shopPage.run(ANY_REQUEST)
          expect(visitsOf(shopPage)).toBe(1)
        }
        expect(await closed.run('nextvisit.track("Checkout Completed")')).toEqual({
          outcome: 'unanswered',
          reason: 'closed',
        })
      })

      it('resolve to the refusal, and throw nothing', async () => {
        const { open, context } = await profileOf('NEXT_PAGE')
        await context.route('**/config.json', async (route) =>
          route.fulfill({ json: { ...(await (await route.fetch()).json()), key: 'nv_sdk_P_wrong' } }),
        )
        const refused = { outcome: 'refused', status: 401, message: 'Invalid or missing API key' }
        expect(await (await open()).run('nextvisit.visit()')).toEqual(refused)
      })
    })

    describeFormsShown({ userName: () => userName, profileOf, buy })
    describeAnswersGiven({ userName: () => userName, profileOf })

    describe('events', () => {
      it('are answered by the gateway', async () => {
        await subscribeAs(userName, 'NEXT_PAGE')
        const shopPage = await (await profileOf('NEXT_PAGE')).open()
        await shopPage.page.getByText('Buy').click()
        await shopPage.page.getByText("Event recorded. 1 form queued for the user's next visit.").waitFor()
        expect(await shopPage.run('nextvisit.track("form:closed")')).toMatchObject({ outcome: 'refused', status: 400 })
        expect(await shopPage.run('nextvisit.track("Circle", { window })')).toMatchObject({
          outcome: 'refused',
          status: 0,
        })
      })

      it('wait for the first visit, which creates the user', async () => {
        const { open, context } = await profileOf('NEXT_PAGE')
        await context.route(VISIT, (route) => route.abort(), { times: 1 })
        const shopPage = await open(false)
        expect(await shopPage.run('nextvisit.track("Checkout Completed")')).toMatchObject({ outcome: 'answered' })
        expect(shopPage.requests).toEqual(['identify-user', 'identify-user', 'track-event'])
      })

      it('count once if their answer is lost', async () => {
        await subscribeAs(userName, 'NEXT_PAGE')
        const { open, context } = await profileOf('NEXT_PAGE')
        const shopPage = await open()
        await context.route(TRACK, (route) => route.fetch().then(() => route.abort()), { times: 1 })
        expect(await shopPage.run('nextvisit.track("Checkout Completed")')).toMatchObject({
          answer: { newEvent: expect.any(Boolean), formsQueued: 1 },
        })
        await expect.poll(() => purchases('NEXT_PAGE'), PATIENTLY).toBe(1)
      })

      it.each([
        ['at that moment', 'nextvisit.track("Checkout Completed")'],
        ['between two attempts', 'new Promise((resolve) => setTimeout(resolve, 100))'],
      ])('arrive if the page is left %s', async (when, last) => {
        const { open, context } = await profileOf('NEXT_PAGE')
        const shopPage = await open()
        if (when === 'between two attempts') {
          // The next attempt is due in half an hour.
          const headers = { 'retry-after': '1800', 'access-control-allow-origin': '*' }
          const busy = { status: 503, headers: { ...headers, 'access-control-expose-headers': 'retry-after' } }
          await context.route(TRACK, (route) => route.fulfill(busy), { times: 1 })
          const answered = shopPage.page.waitForResponse(TRACK)
          await shopPage.run('void nextvisit.track("Checkout Completed")')
          await answered
        }
        await shopPage.run(`${last}; location.href = 'about:blank'`)
        await expect.poll(() => purchases('NEXT_PAGE'), PATIENTLY).toBe(1)
      })

      it('of a new user are sent by the next page if this one is closed', async () => {
        const { open, context } = await profileOf('NEXT_PAGE')
        await context.route(VISIT, (route) => route.abort())
        const shopPage = await open(false)
        const tracked = shopPage.run('nextvisit.track("Checkout Completed")')
        await shopPage.run('nextvisit.close()')
        expect(await tracked).toEqual({ outcome: 'unanswered', reason: 'closed' })
        await context.unroute(VISIT)
        await shopPage.page.reload()
        await expect.poll(() => purchases('NEXT_PAGE'), { ...PATIENTLY, timeout: 60_000 }).toBe(1)
      })

      it('are sent by the next page if the gateway is unreachable when the page is left', async () => {
        const { open, context } = await profileOf('NEXT_PAGE')
        const unreachable = { host: 'http://127.0.0.1:1', key: keyNamed('NEXT_PAGE_SDK_P') }
        await context.route('**/config.json', (route) => route.fulfill({ json: unreachable }), { times: 1 })
        const shopPage = await open(false)
        await shopPage.run('void nextvisit.track("Checkout Completed")')
        await shopPage.page.reload()
        await expect.poll(() => purchases('NEXT_PAGE'), PATIENTLY).toBe(1)
      })
    })

    it('stores no personal data, and nothing once everything is answered', async () => {
      const { open, context } = await profileOf('NEXT_PAGE')
      const shopPage = await open()
      await context.route(TRACK, (route) => route.abort())
      await shopPage.run('void nextvisit.track("Checkout Completed")')
      await shopPage.run(see('hidden'))
      const stored = String(await shopPage.run('JSON.stringify(localStorage)'))
      expect(stored).toContain('Checkout Completed')
      expect(stored).not.toContain(userName)
      expect(stored).not.toContain('nv_sdk_')
      await context.unroute(TRACK)
      await shopPage.pass(HOUR_MS / 2)
      await expect.poll(() => shopPage.run('localStorage.length'), PATIENTLY).toBe(0)
    })
  })
}
