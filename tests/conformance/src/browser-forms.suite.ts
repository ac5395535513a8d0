import { describe, expect, it } from 'vitest'
import {
  ANY_REQUEST,
  FORM,
  HOUR_MS,
  identifiesOf,
  LATE_STORAGE,
  PATIENTLY,
  see,
  setTraits,
  type ShopProfile,
  type ShopProject,
  shownBy,
  VISIT,
  visitsOf,
} from './shop-page.ts'

/** Number of identifies by `buy`. */
const BY_SERVER = 1

/** Fixtures shared by the tests of one browser. */
interface Shoppers {
  /** Returns the user of this test. */
  readonly userName: () => string
  /** Opens a browser profile, which ends with the test. */
  readonly profileOf: (project: ShopProject) => Promise<ShopProfile>
  /** Reports a purchase from the customer's server, so that a form waits for the user. */
  readonly buy: (project: ShopProject) => Promise<void>
}

/** Tests packages/web/README.md: forms of a page during any event on the page and other pages. */
export function describeFormsShown({ userName, profileOf, buy }: Shoppers): void {
  describe('no form is lost, and none is shown twice', () => {
    it('by a reload between its arrival and its delay', async () => {
      await buy('DELAYED')
      const shopPage = await (await profileOf('DELAYED')).open()
      await shopPage.page.reload()
      await shopPage.run('nextvisit.visit()')
      expect(shopPage.forms).toEqual([])
      await shopPage.pass(HOUR_MS)
      expect(await shownBy(shopPage)).toEqual([FORM])
      await shopPage.page.reload()
      await shopPage.run('nextvisit.visit()')
      await shopPage.pass(HOUR_MS)
      await shopPage.run('nextvisit.visit()')
      expect(await shownBy(shopPage)).toEqual([FORM])
    })

    it.each([
      ['', "lastPage: '/'"],
      [', even if the page has other traits then', "lastPage: '/', page: Date.now()"],
    ])('by a reload before the answer arrives%s', async (_how, traits) => {
      await buy('NEXT_PAGE')
      const { open, context } = await profileOf('NEXT_PAGE')
      await setTraits(context, traits)
      const held = Promise.withResolvers<void>()
      await context.route(
        VISIT,
        async (route) => {
          expect(await (await route.fetch()).json()).toMatchObject({ nextFeedbackId: FORM })
          held.resolve()
        },
        { times: 1 },
      )
      const shopPage = await open(false)
      await held.promise
      await shopPage.page.reload()
      expect(await shownBy(shopPage)).toEqual([FORM])
      await shopPage.run('nextvisit.visit()')
      // A visit that was sent twice counts once.
      expect(await identifiesOf(userName())).toBe(BY_SERVER + visitsOf(shopPage) - 1)
    })

    it.each([
      ['at once', ''],
      ['at once, even if one sees the storage of the other late', LATE_STORAGE],
    ])('by two tabs %s', async (_how, prepare) => {
      await buy('NEXT_PAGE')
      const { open, context } = await profileOf('NEXT_PAGE')
      const held = Promise.withResolvers<void>()
      const isLetGo = Promise.withResolvers<void>()
      await context.route(
        VISIT,
        async (route) => {
          const response = await route.fetch()
          held.resolve()
          await isLetGo.promise
          await route.fulfill({ response })
        },
        { times: 1 },
      )
      const first = await open(false)
      await held.promise
      await context.addInitScript(prepare)
      const second = await open(false)
      isLetGo.resolve()
      for (const code of ['nextvisit.visit()', ANY_REQUEST]) await Promise.all([first.run(code), second.run(code)])
      await expect.poll(() => [...first.forms, ...second.forms], PATIENTLY).toEqual([FORM])
    })

    it('by two tabs whose delays end together, even if one sees the storage of the other late', async () => {
      await buy('DELAYED')
      const { open, context } = await profileOf('DELAYED')
      const first = await open()
      await context.addInitScript(LATE_STORAGE)
      const second = await open()
      // Advances both tabs, because a profile has one clock. A second hour would end the marks.
      await first.pass(HOUR_MS)
      await Promise.all([first.run(ANY_REQUEST), second.run(ANY_REQUEST)])
      await expect.poll(() => [...first.forms, ...second.forms], PATIENTLY).toEqual([FORM])
    })

    it('by a hidden page', async () => {
      await buy('DELAYED')
      const shopPage = await (await profileOf('DELAYED')).open()
      await shopPage.run(see('hidden'))
      await shopPage.pass(HOUR_MS)
      expect(shopPage.forms).toEqual([])
      await shopPage.run(see('visible'))
      expect(await shownBy(shopPage)).toEqual([FORM])
    })

    it('to another user of the same browser', async () => {
      await buy('DELAYED')
      const shopPage = await (await profileOf('DELAYED')).open()
      const own = shopPage.page.url()
      await shopPage.page.goto(own.replace(userName(), 'another-user'))
      await shopPage.run('nextvisit.visit()')
      await shopPage.pass(HOUR_MS)
      expect(shopPage.forms).toEqual([])
      await shopPage.page.goto(own)
      await shopPage.run('nextvisit.visit()')
      await shopPage.pass(HOUR_MS)
      expect(await shownBy(shopPage)).toEqual([FORM])
    })

    it('with blocked storage', async () => {
      await buy('DELAYED')
      const { open, context } = await profileOf('DELAYED')
      await context.addInitScript(
        `for (const name of ['localStorage', 'sessionStorage'])
           Object.defineProperty(globalThis, name, { get: () => { throw new DOMException('Blocked', 'SecurityError') } })
         if (navigator.locks) navigator.locks.request = () => Promise.reject(new DOMException('Blocked', 'SecurityError'))`,
      )
      const shopPage = await open()
      await shopPage.pass(HOUR_MS)
      expect(await shownBy(shopPage)).toEqual([FORM])
      expect(await shopPage.run('nextvisit.track("Looked")')).toMatchObject({ outcome: 'answered' })
    })
  })
}
