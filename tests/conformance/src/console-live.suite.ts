import { callCarefully } from '@nextvisit/testing/black-box'
import type { Page } from '@nextvisit/testing/browser'
import { describe, expect, it } from 'vitest'
import { consoleStack, faultsOf, signIn, theConsole } from './console-pages.ts'

const FORM = 'nps-after-checkout'
const HOSTILE = '<img src=x onerror=alert(1)>'

/** Calls the gateway like the demo's server. */
const call = (route: string, body: Readonly<Record<string, unknown>>) => {
  const { gatewayUrl, keys } = consoleStack()
  return callCarefully({ gatewayUrl, route: `/v2/admin/${route}`, apiKey: keys.admin, body })
}
const identify = (userName: string) => call('identify-user', { userName, userAttributes: { $set: { plan: 'pro' } } })

async function open(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Live' }).click()
  await page.getByRole('button', { name: 'Pause' }).waitFor()
}

const entry = (page: Page, text: string) => page.getByRole('listitem').filter({ hasText: text })

/** Returns the kinds of the entries on the screen. */
async function kindsOn(page: Page): Promise<readonly string[]> {
  const classes = await page.locator('.feed > li').evaluateAll((items) => items.map(({ className }) => className))
  return [...new Set(classes)].map((name) => name.replace('entry ', ''))
}
const shows = (page: Page, kinds: readonly string[]) =>
  expect.poll(() => kindsOn(page), { timeout: 30_000 }).toEqual(kinds)

/** Describes the live feed. */
export function describeConsoleLive(): void {
  describe('its live feed', () => {
    it('shows folded facts, form events and refusals, and leads to the user', async () => {
      const page = await signIn(theConsole().token)
      await open(page)
      const userName = `live-${HOSTILE}`
      await identify(userName)
      expect(await call('track-event', { userName, eventName: 'Checkout Completed' })).toMatchObject({ status: 202 })
      expect(await call('track-event', { userName: 'nobody', eventName: 'Checkout' })).toMatchObject({ status: 404 })
      await entry(page, 'Event Checkout Completed').filter({ hasText: userName }).waitFor()
      await entry(page, `Form ${FORM} queued`).first().waitFor()
      const refusal = entry(page, 'Refused: User not found')
      await refusal.first().waitFor()
      expect(await refusal.first().textContent()).toContain('user 404')
      expect(await faultsOf(page)).toEqual([])
      await entry(page, 'Event Checkout Completed').filter({ hasText: userName }).getByRole('link').click()
      await page.getByRole('heading', { level: 1, name: userName }).waitFor()
    })

    it('can be filtered by project, event and outcome, in the address', async () => {
      const page = await signIn(theConsole().token)
      await open(page)
      await page.getByLabel('Outcome').selectOption('refused')
      await shows(page, ['refused'])
      await page.getByLabel('Outcome').selectOption('recorded')
      await page.getByLabel('Event').fill('CHECKOUT completed')
      await page.getByLabel('Event').press('Enter')
      await page.getByLabel('Project').selectOption('demo/shop')
      await shows(page, ['event'])
      await page.reload()
      await shows(page, ['event'])
      expect(await page.getByLabel('Event').inputValue()).toBe('CHECKOUT completed')
      await page.getByLabel('Event').fill('never tracked')
      await page.getByLabel('Event').press('Enter')
      await page.getByText('No recent entry matches.').waitFor()
      expect(await faultsOf(page)).toEqual([])
    })

    it('does not change during a pause, and continues', async () => {
      const page = await signIn(theConsole().token)
      await open(page)
      await page.getByRole('button', { name: 'Pause' }).click()
      await identify('came-while-paused')
      // The membership of a segment may follow.
      await page.getByText(/[12] newer/).waitFor()
      expect(await entry(page, 'came-while-paused').count()).toBe(0)
      expect(await faultsOf(page)).toEqual([])
      await page.getByRole('button', { name: 'Follow' }).click()
      await entry(page, 'came-while-paused').filter({ hasText: 'Identified' }).waitFor()
    })

    it('masks userNames for viewers', async () => {
      const page = await signIn(theConsole().viewerToken)
      await open(page)
      await identify('zoe@example.com')
      await entry(page, 'Identified').filter({ hasText: 'z•••' }).waitFor()
      expect(await page.content()).not.toContain('zoe@example.com')
    })
  })
}

/** Expects the notice about metering, which must be stopped. */
export async function expectNothingFolded(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Live' }).click()
  await page.getByText('metering does not answer, so newer facts do not count as folded.').waitFor()
  expect(await faultsOf(page)).toEqual([])
}
