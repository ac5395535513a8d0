import { createHash } from 'node:crypto'
import { applyWorkspace } from '@nextvisit/cli/workspace'
import { OrganizationConfig } from '@nextvisit/contracts'
import { callCarefully, eventually, keyNamed } from '@nextvisit/testing/black-box'
import type { Page } from '@nextvisit/testing/browser'
import { beforeAll, describe, expect, it } from 'vitest'
import { consoleStack, faultsOf, signIn, theConsole } from './console-pages.ts'

const KEY = keyNamed('LIMITED_ADMIN_P')
const HOSTILE = '<img src=x onerror=alert(1)>'
const TRAITS = 60

/** Applies an organization with limits, one of them reached, in addition to the demo. */
async function givenLimited(): Promise<void> {
  const { brokers, gatewayUrl } = consoleStack()
  const sha256 = createHash('sha256').update(KEY).digest('hex')
  const limited = OrganizationConfig.parse({
    id: 'limited',
    plan: { eventsPerMonth: 3, monthlyActiveUsers: 1_000, uniqueTraits: 200 },
    projects: [
      {
        id: 'busy',
        keys: [{ name: 'backend', kind: 'admin', environment: 'P', sha256 }],
        traits: [{ slug: 'internal_note', enabled: false }],
        events: [{ slug: 'legacy_click', enabled: false }, { slug: 'signed_up' }],
      },
      { id: 'quiet' },
    ],
  })
  await applyWorkspace({
    connection: { brokers, clientId: 'console-spec' },
    organizations: [limited],
    contents: [],
    appliedBy: 'spec',
  })
  const call = (route: string, body: Record<string, unknown>) =>
    callCarefully({ gatewayUrl, route: `/v2/admin/${route}`, apiKey: KEY, body: { userName: 'ada', ...body } })
  const names = Array.from({ length: TRAITS }, (_, nth) => [`trait_${String(nth).padStart(2, '0')}`, nth])
  const $set = { ...Object.fromEntries(names), [HOSTILE]: 1 }
  // The gateway knows the key when it has read the organization.
  const identify = () => call('identify-user', { userAttributes: { $set } })
  await eventually(identify, ({ status }) => status === 200, 30_000)
  const statuses: unknown[] = []
  for (const eventName of ['Signed Up', 'Checkout Completed', 'Checkout Completed', 'Signed Up'])
    statuses.push((await call('track-event', { eventName })).status)
  expect(statuses).toEqual([202, 202, 202, 402])
}

async function open(page: Page, project: string): Promise<void> {
  await page.getByRole('link', { name: 'Registry and usage' }).click()
  const select = page.getByLabel('Project')
  await select.waitFor()
  // The console rereads the workspace after five seconds, and a page loads it when opened.
  const reload = async () => {
    await page.reload()
    await select.waitFor()
    return select.locator('option').allTextContents()
  }
  await eventually(reload, (names) => names.includes(project), 30_000, 1_000)
  await select.selectOption(project)
  await page.getByRole('region', { name: 'Limits' }).waitFor()
}

const namesOn = (page: Page) => page.locator('th.name').allTextContents()

/** Describes the names and the usage of a project. */
export function describeConsoleRegistry(): void {
  describe('its registry and usage', () => {
    beforeAll(givenLimited, 60_000)

    it('show the use, the subject and the forecast of each limit', async () => {
      const page = await signIn(theConsole().token)
      await open(page, 'limited/busy')
      const limit = (name: string) => page.getByRole('article', { name })
      await limit('Events a month').getByText('Reached: events with a production key are refused (402) until').waitFor()
      await limit('Events a month').getByText('organization limited').waitFor()
      await limit('Events a month').getByText('100 %').waitFor()
      await limit('Monthly active users').getByText('project busy').waitFor()
      expect(await limit('Monthly active users').textContent()).toMatch(/Not this month|too early to tell/)
      await limit('Event names').getByText('the system limit').waitFor()
      await limit('Trait names').getByText('61 new this month').waitFor()
      expect(await faultsOf(page)).toEqual([])
    })

    it('show traits page by page, with any name, and disabled ones', async () => {
      const page = await signIn(theConsole().token)
      await open(page, 'limited/busy')
      await page.getByText(HOSTILE).waitFor()
      const disabled = page.getByRole('row', { name: 'internal_note' })
      await disabled.getByText('disabled').waitFor()
      expect(await disabled.textContent()).toContain('never')
      expect(await namesOn(page)).toHaveLength(50)
      await page.getByRole('button', { name: 'More' }).click()
      await page.getByRole('row', { name: 'trait_59' }).waitFor()
      expect(new Set(await namesOn(page)).size).toBe(TRAITS + 2)
      expect(await page.getByRole('button', { name: 'More' }).count()).toBe(0)
    })

    it('find events by prefix, in any spelling, and keep it in the address', async () => {
      const page = await signIn(theConsole().token)
      await open(page, 'limited/busy')
      await page.getByRole('link', { name: 'Events', exact: true }).click()
      await page.getByRole('row', { name: 'legacy_click' }).getByText('disabled').waitFor()
      await page.getByRole('row', { name: 'signed_up' }).getByText('declared').waitFor()
      await page.getByLabel('Name begins with').fill('CHECKOUT c')
      await expect.poll(() => namesOn(page)).toEqual(['checkout_completed Checkout Completed'])
      expect(await faultsOf(page)).toEqual([])
      await page.reload()
      await expect.poll(() => namesOn(page)).toEqual(['checkout_completed Checkout Completed'])
      await page.getByLabel('Name begins with').fill('nothing')
      await page.getByText('No events begin with “nothing”.').waitFor()
      expect(await faultsOf(page)).toEqual([])
    })

    it('explain an empty project, also to a viewer', async () => {
      const page = await signIn(theConsole().viewerToken)
      await open(page, 'limited/quiet')
      await page.getByText('No record of this project contains a trait yet.').waitFor()
      await page
        .getByRole('article', { name: 'Monthly active users' })
        .getByText('nothing was added this month')
        .waitFor()
      expect(await faultsOf(page)).toEqual([])
      await open(page, 'demo/shop')
      await page.getByRole('article', { name: 'Events a month' }).getByText('The plan sets no limit.').waitFor()
    })
  })
}
