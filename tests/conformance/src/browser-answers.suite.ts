import { describe, expect, it } from 'vitest'
import { eventually, isReady, readUserEvents } from '@nextvisit/testing/black-box'
import { callerOf } from './call.ts'
import { faultsOf, WCAG_22 } from './console-pages.ts'
import { product } from './product.ts'
import { type Display, PATIENTLY, type ShopPage, type ShopProfile, type ShopProject } from './shop-page.ts'

const ANSWERS = '**/v2/sdk/answers'
const MINUTE_MS = 60_000

/** The fixtures of one browser. */
interface Respondents {
  /** Returns the user of this test. */
  readonly userName: () => string
  /** Opens a browser profile, which ends with the test. */
  readonly profileOf: (project: ShopProject, display?: Display) => Promise<ShopProfile>
}

/** The form of a shop, the keys that answer it, and the answers that they give. */
const SHOPS: readonly (readonly [
  shop: ShopProject,
  locale: string,
  place: Display['place'],
  keys: string,
  answers: object,
])[] = [
  ['BOOKS', 'en-GB', 'popover', 'Tab Tab Space ArrowDown ArrowDown Tab "Slow" Tab Enter', { score: 2, reason: 'Slow' }],
  ['BOOKS', 'de-CH', 'inline', 'Tab Space Tab "Träge" Tab Enter', { score: 0, reason: 'Träge' }],
  ['FLOWERS', 'de-DE', 'popover', 'Tab Tab ArrowDown Tab ArrowDown Tab Enter', { stars: 2, contact: false }],
  ['MUSIC', 'en-US', 'inline', 'Tab Space ArrowUp Tab "Lifetime" Tab Enter', { plan: { other: 'Lifetime' } }],
  ['GAMES', 'de-AT', 'popover', 'Tab Tab Space Tab Space Tab Tab Enter', { uses: ['home', 'train'] }],
  ['TOOLS', 'en-GB', 'inline', 'Tab "Grüße 🚀" Tab Enter', { missing: 'Grüße 🚀' }],
]

/** Tests answers from the keyboard to the log: the example with @nextvisit/web and @nextvisit/web-form. */
export function describeAnswersGiven({ userName, profileOf }: Respondents): void {
  /** Queues the form of a shop for the user, and opens a page that shows it. */
  async function openForm(project: ShopProject, display?: Display) {
    const { identify, track } = callerOf(`${project}_ADMIN_P`)
    await identify({ userName: userName() })
    const { body } = await track({ userName: userName(), eventName: 'Checkout Completed' })
    expect(body).toMatchObject({ formsQueued: 1 })
    const profile = await profileOf(project, display)
    const shopPage = await profile.open()
    await shopPage.page.locator('nextvisit-form form').waitFor()
    return { ...profile, shopPage, page: shopPage.page }
  }

  /** Returns the answers of the user in the log, each once: a repeat under the same key has the same id. */
  async function answersOf(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const records = await readUserEvents(product())
    const own = records.filter(({ value }) => value['type'] === 'AnswerGiven' && value['userName'] === userName())
    return [...new Map(own.map(({ value }) => [value['id'], value])).values()]
  }

  const endsOf = async () => (await answersOf()).filter(({ status }) => status !== 'partial')
  /** Waits for the answer that ends the form, and expects no other. */
  const expectOne = (answers: object) =>
    expect.poll(endsOf, { ...PATIENTLY, interval: 200 }).toMatchObject([{ status: 'finished', answers }])

  describe('answers', () => {
    it.each(SHOPS)('of %s in %s, %s, are given by keyboard alone, and axe finds nothing', async (...row) => {
      const [shop, locale, place, keys, answers] = row
      const { page } = await openForm(shop, { locale, place })
      expect(await faultsOf(page, WCAG_22)).toEqual([])
      // A popover has the focus.
      if (place === 'inline') await page.getByText('Buy').focus()
      for (const [key] of keys.matchAll(/"[^"]*"|\S+/g)) {
        if (key.startsWith('"')) await page.keyboard.type(key.slice(1, -1))
        else await page.keyboard.press(key)
      }
      await page.getByText(locale.startsWith('de') ? 'Vielen Dank.' : 'Thank you.').waitFor()
      expect(await faultsOf(page, WCAG_22)).toEqual([])
      await expectOne(answers)
      expect((await answersOf()).at(-1)).toMatchObject({ language: locale.slice(0, 2) })
    })

    it('go on after a reload in the middle, with one answer', async () => {
      const { page, shopPage } = await openForm('BOOKS')
      await choose(shopPage, '3')
      await page.getByRole('textbox').fill('Slow')
      await page.reload()
      await expect.poll(() => page.getByRole('textbox').inputValue(), PATIENTLY).toBe('Slow')
      await finish(shopPage)
      await isThanked(shopPage)
      await expectOne({ score: 3, reason: 'Slow' })
      await page.reload()
      await shopPage.run('nextvisit.visit()')
      expect(await page.locator('nextvisit-form form').count()).toBe(0)
    })

    it('count once if their answer is lost and a second tab sends them again', async () => {
      const { context, open, shopPage } = await openForm('BOOKS')
      const arrived = Promise.withResolvers<void>()
      await context.route(ANSWERS, async (route) => {
        await route.fetch()
        arrived.resolve()
        await route.abort()
      })
      await choose(shopPage, '9')
      await finish(shopPage)
      await arrived.promise
      await context.unroute(ANSWERS)
      const second = await open()
      await expect.poll(() => storedBy(second), PATIENTLY).toBe(0)
      await shopPage.pass(MINUTE_MS)
      await isThanked(shopPage)
      await expectOne({ score: 9 })
    })

    it('are sent after a minute without a connection', async () => {
      const { context, shopPage } = await openForm('BOOKS')
      await context.setOffline(true)
      await choose(shopPage, '2')
      await finish(shopPage)
      await shopPage.pass(MINUTE_MS)
      await isThanked(shopPage)
      expect(await answersOf()).toEqual([])
      await context.setOffline(false)
      await shopPage.pass(MINUTE_MS)
      await expect.poll(() => storedBy(shopPage), PATIENTLY).toBe(0)
      await expectOne({ score: 2 })
    })

    it('of a tab that was closed without a connection are sent by the next page', async () => {
      const { context, open, page, shopPage } = await openForm('BOOKS')
      await context.setOffline(true)
      await choose(shopPage, '7')
      await finish(shopPage)
      await page.close()
      await context.setOffline(false)
      const next = await open()
      await next.pass(MINUTE_MS)
      await expect.poll(() => storedBy(next), PATIENTLY).toBe(0)
      await expectOne({ score: 7 })
    })

    it('reach the log once if the gateway is killed in between', { timeout: 120_000 }, async () => {
      const { context, shopPage } = await openForm('BOOKS')
      await context.route(
        ANSWERS,
        async (route) => {
          const sent = route.fetch().catch(() => undefined)
          product().kill('gateway', 'SIGKILL')
          await sent
          await route.abort()
        },
        { times: 1 },
      )
      await choose(shopPage, '10')
      await finish(shopPage)
      // The tests after this one need the gateway, also on a busy machine.
      expect(await eventually(() => isReady(product().gatewayUrl), Boolean, 90_000)).toBe(true)
      await shopPage.pass(MINUTE_MS)
      await isThanked(shopPage)
      await expect.poll(() => storedBy(shopPage), PATIENTLY).toBe(0)
      await expectOne({ score: 10 })
    })

    it('that the gateway refuses are removed, and the page says so', async () => {
      const { page, shopPage } = await openForm('BOOKS')
      const warned = page.waitForEvent('console', (message) => message.text().startsWith('Nextvisit'))
      const answer = '{ offerId: crypto.randomUUID(), formId: "books", revision: 1, answers: {}, status: "finished" }'
      expect(await shopPage.run(`nextvisit.answer(${answer})`)).toMatchObject({ outcome: 'refused', status: 400 })
      expect((await warned).text()).toContain('formId')
      await expect.poll(() => storedBy(shopPage), PATIENTLY).toBe(0)
    })
  })
}

const choose = ({ page }: ShopPage, score: string) => page.getByRole('radio', { name: score, exact: true }).check()
const finish = ({ page }: ShopPage) => page.getByRole('button', { name: 'Send' }).click()
const isThanked = ({ page }: ShopPage) => page.getByText('Thank you.').waitFor()
/** Reads the number of stored answers, which the gateway does not have yet. */
const storedBy = ({ run }: ShopPage) =>
  run('Object.keys(localStorage).filter((name) => name.includes(":answers:")).length')
