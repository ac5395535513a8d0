import type { Page } from '@nextvisit/testing/browser'
import { describe, expect, it } from 'vitest'
import { eventually, isReady, readUserEvents } from '@nextvisit/testing/black-box'
import { type Answers, countsIn, countsOf } from './answer-counts.ts'
import { callerOf } from './call.ts'
import { faultsOf, WCAG_22 } from './console-pages.ts'
import { applyWorkspaceFile, organizationOf, product } from './product.ts'
import { type Display, PATIENTLY, see, type ShopPage, type ShopProfile, type ShopProject } from './shop-page.ts'
import { createStackCommands } from './stack-commands.ts'

const ANSWERS = '**/v2/sdk/answers'
const MINUTE_MS = 60_000

/** The fixtures of one browser. */
interface Respondents {
  /** Returns the user of this test. */
  readonly userName: () => string
  /** Opens a browser profile, which ends with the test. */
  readonly profileOf: (project: ShopProject, display?: Display) => Promise<ShopProfile>
}

/** The form of each shop. */
const FORMS = {
  BOOKS: 'nps',
  FLOWERS: 'delivery',
  MUSIC: 'plan',
  GAMES: 'places',
  TOOLS: 'missing',
  PAPERS: 'articles',
}
type AskingShop = keyof typeof FORMS

/** An answered form, as `GET /v2/admin/forms/{formId}/answers` lists it. */
interface Listed {
  readonly userName: string
  readonly revision: number
  readonly answers: Answers
}

/** The keys that answer the form of a shop, and the answers that they give. */
const SHOPS: readonly (readonly [
  shop: AskingShop,
  locale: string,
  place: Display['place'],
  keys: string,
  answers: Answers,
])[] = [
  ['BOOKS', 'en-GB', 'popover', 'Tab Tab Space ArrowDown ArrowDown Tab "Slow" Tab Enter', { score: 2, reason: 'Slow' }],
  ['BOOKS', 'de-CH', 'inline', 'Tab Space Tab "Träge" Tab Enter', { score: 0, reason: 'Träge' }],
  ['FLOWERS', 'de-DE', 'popover', 'Tab Tab ArrowDown Tab ArrowDown Tab Enter', { stars: 2, contact: false }],
  ['MUSIC', 'en-US', 'inline', 'Tab Space ArrowUp Tab "Lifetime" Tab Enter', { plan: { other: 'Lifetime' } }],
  ['GAMES', 'de-AT', 'popover', 'Tab Tab Space Tab Space Tab Tab Enter', { uses: ['home', 'train'] }],
  ['TOOLS', 'en-GB', 'inline', 'Tab "Grüße 🚀" Tab Enter', { missing: 'Grüße 🚀' }],
]

/** Tests answers from the keyboard to the results: the example with @nextvisit/web and @nextvisit/web-form. */
export function describeAnswersGiven({ userName, profileOf }: Respondents): void {
  /** Forms that were shown, and answers that finished one, of all tests. */
  const shown: AskingShop[] = []
  const given: { readonly shop: AskingShop; readonly userName: string; readonly answers: Answers }[] = []

  /** Queues the form of a shop for the user. */
  async function queueForm(shop: AskingShop): Promise<void> {
    const { identify, track } = callerOf(`${shop}_ADMIN_P`)
    await identify({ userName: userName() })
    const { body } = await track({ userName: userName(), eventName: 'Checkout Completed' })
    expect(body).toMatchObject({ formsQueued: 1 })
  }

  /** Opens a page that shows the form of a shop. */
  async function showForm(shop: AskingShop, open: ShopProfile['open']) {
    await queueForm(shop)
    const shopPage = await open()
    await shopPage.page.locator('nextvisit-form form').waitFor()
    shown.push(shop)
    return { shopPage, page: shopPage.page }
  }

  async function openForm(shop: AskingShop, display?: Display) {
    const profile = await profileOf(shop, display)
    return { ...profile, ...(await showForm(shop, profile.open)) }
  }

  /** Lists the answers of the user by the admin route, newest first. */
  async function answersTo(shop: AskingShop): Promise<readonly Listed[]> {
    const { body } = await callerOf(`${shop}_ADMIN_P`).get(`/v2/admin/forms/${FORMS[shop]}/answers?limit=100`)
    const { answers = [] } = body as { readonly answers?: readonly Listed[] }
    return answers.filter((answer) => answer.userName === userName())
  }

  /** Waits for these finished answers of the user, newest first, and expects no other. */
  async function expectAnswers(shop: AskingShop, all: readonly Answers[], besides: object = {}): Promise<void> {
    const finished = all.map((answers): unknown => expect.objectContaining({ status: 'finished', answers, ...besides }))
    await expect.poll(() => answersTo(shop), { timeout: 60_000, interval: 200 }).toEqual(finished)
    given.push(...all.map((answers) => ({ shop, userName: userName(), answers })))
  }

  const expectOne = (answers: Answers) => expectAnswers('BOOKS', [answers])

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
      await expectAnswers(shop, [answers], { language: locale.slice(0, 2) })
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
      expect(await answersTo('BOOKS')).toEqual([])
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

    it('that wait for a request in flight are sent when the page is hidden', async () => {
      const { context, page, shopPage } = await openForm('BOOKS')
      const held = Promise.withResolvers<void>()
      const isLetGo = Promise.withResolvers<void>()
      await context.route(
        ANSWERS,
        async (route) => {
          held.resolve()
          await isLetGo.promise
          await route.continue()
        },
        { times: 1 },
      )
      await choose(shopPage, '3')
      await held.promise
      await page.getByRole('textbox').fill('Slow')
      await page.keyboard.press('Tab')
      await shopPage.run(see('hidden'))
      const answered = () => shopPage.requests.filter((route) => route === 'answers').length
      await expect.poll(answered, { timeout: 5_000 }).toBe(2)
      isLetGo.resolve()
      await finish(shopPage)
      await isThanked(shopPage)
      await expectOne({ score: 3, reason: 'Slow' })
    })

    it('before and after an edit of the form are kept, each with its revision', { timeout: 120_000 }, async () => {
      const { open, page } = await openForm('PAPERS')
      const organization = await organizationOf('edited')
      await applyWorkspaceFile(
        `organizations:\n${organization.replace('elements:\n', (line) => `${line}                - { id: stars, type: rating, scale: 5 }\n`)}`,
      )
      const { page: second } = await showForm('PAPERS', open)
      await page.getByRole('checkbox').check()
      await finishOn(page)
      await second.getByRole('radio', { name: '4' }).check()
      await second.getByRole('checkbox').check()
      await finishOn(second)
      await expectAnswers('PAPERS', [{ stars: 4, contact: true }, { contact: true }])
      const [young, old] = await answersTo('PAPERS')
      expect(young?.revision).toBeGreaterThan(old?.revision ?? Infinity)
    })

    it('count once if the gateway and the collector are killed in between', { timeout: 120_000 }, async () => {
      const { context, shopPage } = await openForm('BOOKS')
      await context.route(
        ANSWERS,
        async (route) => {
          const sent = route.fetch().catch(() => undefined)
          for (const name of ['gateway', 'answer-collector']) product().kill(name, 'SIGKILL')
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

    it('equal the results, ended each form once, and the audit reports no difference', async () => {
      expect(given.length).toBeGreaterThan(0)
      for (const shop of new Set(shown)) {
        const own = given.filter((answer) => answer.shop === shop)
        const [delivered, finished] = [shown.filter((one) => one === shop).length, own.length]
        const readResults = async () =>
          (await callerOf(`${shop}_ADMIN_P`).get(`/v2/admin/forms/${FORMS[shop]}/results`)).body
        await expect.poll(readResults, PATIENTLY).toMatchObject({
          funnel: { queued: delivered, delivered, started: finished, finished, dismissed: 0, expired: 0 },
          responseRate: finished / delivered,
          unmatched: 0,
        })
        expect(countsIn(await readResults())).toEqual(countsOf(own.map(({ answers }) => answers)))
      }

      const facts = await readUserEvents(product())
      const ends = facts.filter(({ value }) => value['type'] === 'AnswerGiven' && value['status'] !== 'partial')
      // A repeat under the same key has the same id.
      const ended = [...new Map(ends.map(({ value }) => [value['id'], String(value['userName'])])).values()]
      const users = new Set(given.map((answer) => answer.userName))
      expect(ended.filter((name) => users.has(name)).toSorted()).toEqual(
        given.map((answer) => answer.userName).toSorted(),
      )

      const { nextvisit } = createStackCommands(product)
      expect(await nextvisit('audit')).toMatchObject({ exitCode: 0 })
    })
  })
}

const choose = ({ page }: ShopPage, score: string) => page.getByRole('radio', { name: score, exact: true }).check()
const finishOn = (page: Page) => page.getByRole('button', { name: 'Send' }).click()
const finish = ({ page }: ShopPage) => finishOn(page)
const isThanked = ({ page }: ShopPage) => page.getByText('Thank you.').waitFor()
/** Reads the number of stored answers, which the gateway does not have yet. */
const storedBy = ({ run }: ShopPage) =>
  run('Object.keys(localStorage).filter((name) => name.includes(":answers:")).length')
