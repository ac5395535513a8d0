import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { callCarefully, eventually, keyNamed } from '@nextvisit/testing/black-box'
import type { Page } from '@nextvisit/testing/browser'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  consoleStack,
  cookieOf,
  EMPTY_PROJECT,
  faultsOf,
  find,
  openPath,
  OVERVIEW,
  OWN,
  send,
  signIn,
  theConsole,
} from './console-pages.ts'
import { type HookReceiver, startHookReceiver } from './hook-receiver.ts'
import { createStackCommands } from './stack-commands.ts'

const KEY = keyNamed('HOOKED_ADMIN_P')
const VARIABLES = new Map([
  ['HOOKED_ADMIN_P', KEY],
  ['HOOK_SECRET', `whsec_${Buffer.alloc(32, 7).toString('base64')}`],
])
const CRM = 'webhooks/hooked/shop/crm'
const NAME = 'hooked@example.com'
const HOSTILE = '<img src=x onerror=alert(1)>'
/** A delivery passes two consumers. */
const SOON = { timeout: 30_000 }

let receiver: HookReceiver | undefined

/** Starts a receiver, and applies a project with two endpoints there, in addition to the demo. */
async function givenHooked(): Promise<void> {
  receiver = await startHookReceiver((type) => `${HOSTILE} got ${type}`)
  const { url } = receiver
  const workspace = `
organizations:
  - id: hooked
    projects:
      - id: shop
        keys: [{ name: backend, kind: admin, environment: P, secret: $HOOKED_ADMIN_P }]
        segments: [{ id: paying, where: { trait: plan, is: pro } }]
        webhooks:
          - { id: crm, url: "${url}/crm?token=a-secret", include: [traits], secret: $HOOK_SECRET }
          - { id: mail, url: "${url}/mail", events: [user.left_segment], secret: $HOOK_SECRET }
`
  const file = path.join(consoleStack().dataDirectory, 'hooked.yaml')
  await writeFile(file, workspace)
  const { nextvisit } = createStackCommands(consoleStack, VARIABLES)
  expect(await nextvisit('apply', file)).toMatchObject({ exitCode: 0 })
}

function theReceiver(): HookReceiver {
  if (!receiver) throw new Error('The receiver is not running')
  return receiver
}

/** Waits until the receiver has got as many requests more. */
async function untilReceived(where: string, more: number, act: () => Promise<unknown>): Promise<void> {
  const { received } = theReceiver()
  const before = received(where)
  await act()
  await expect.poll(() => received(where), SOON).toBeGreaterThanOrEqual(before + more)
}

/** Identifies a user with a plan. The membership of a segment that it changes is a webhook. */
async function setPlan(userName: string, plan: string): Promise<void> {
  const { gatewayUrl } = consoleStack()
  const body = { userName, userAttributes: { $set: { plan } } }
  const identify = () => callCarefully({ gatewayUrl, route: '/v2/admin/identify-user', apiKey: KEY, body })
  // The gateway knows the key when it has read the organization.
  expect(await eventually(identify, ({ status }) => status === 200, 30_000)).toMatchObject({ status: 200 })
}

/** Opens an endpoint, which the console and the dispatcher know some seconds after it was applied. */
async function openEndpoint(page: Page, endpointId: string): Promise<void> {
  const link = page.getByRole('link', { name: endpointId, exact: true })
  const reload = async () => {
    await openPath(page, 'webhooks?project=hooked%2Fshop')
    await page.getByRole('heading', { name: 'Endpoints' }).waitFor()
    return link.count()
  }
  expect(await eventually(reload, Boolean, 30_000, 1_000)).toBe(1)
  await link.click()
  await page.getByRole('heading', { level: 1, name: endpointId }).waitFor()
}

/** Opens the dialog of a button with the keyboard, fills fields, and confirms with Enter. */
async function confirm(page: Page, button: string, action: string, fields: Readonly<Record<string, string>> = {}) {
  await page.getByRole('button', { name: `${button} …`, exact: true }).press('Enter')
  const dialog = page.getByRole('dialog', { name: `${action}?` })
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value)
  expect(await faultsOf(page)).toEqual([])
  await dialog.getByRole('button', { name: action, exact: true }).press('Enter')
}

const statusOf = (page: Page) => page.locator('.user-head .pill')
const deliveries = (page: Page) => page.getByRole('region', { name: 'Deliveries', exact: true }).getByRole('row')
const valueOf = (page: Page, name: string) => page.locator(`xpath=//dl/dt[text()="${name}"]/following-sibling::dd[1]`)

/** Opens the latest delivery of an endpoint with this status. */
async function openLatest(page: Page, endpointId: string, status: string): Promise<void> {
  await openEndpoint(page, endpointId)
  await page.getByLabel('Status').selectOption(status)
  const row = deliveries(page).filter({ has: page.getByText(status, { exact: true }) })
  await row.getByRole('link').first().click(SOON)
  await page.getByRole('heading', { name: 'Request body' }).waitFor()
}

/** Describes webhooks: health of endpoints, deliveries, replays and commands. */
export function describeConsoleWebhooks(): void {
  describe('its webhooks', () => {
    beforeAll(givenHooked, 60_000)
    afterAll(() => receiver?.stop())

    it('show the health of an endpoint, and each delivery with its request, response and timing', async () => {
      const page = await signIn(theConsole().token)
      // The endpoint reports records from when it was applied, also if the dispatcher hears of it later.
      await untilReceived('/crm', 1, () => setPlan(NAME, 'pro'))
      await openEndpoint(page, 'crm')
      await expect.poll(() => valueOf(page, 'State').textContent(), SOON).toBe('live')
      const row = deliveries(page).filter({ hasText: 'user.entered_segment' })
      await row.getByText('200', { exact: true }).waitFor(SOON)
      await row.getByRole('link', { name: NAME }).waitFor()
      await expect.poll(() => valueOf(page, 'Pending').textContent(), SOON).toBe('0')
      await valueOf(page, 'Last delivered').locator('time').waitFor()
      expect(await faultsOf(page)).toEqual([])

      await row.getByRole('link', { name: 'user.entered_segment' }).press('Enter')
      await page.getByText('"plan": "pro"').waitFor()
      const attempt = page.getByRole('region', { name: 'Attempts' }).getByRole('row').nth(1)
      await attempt.getByText(`${HOSTILE} got user.entered_segment`).waitFor()
      expect(await attempt.textContent()).toMatch(/ ms.*delivered.*200/)
      expect(await faultsOf(page)).toEqual([])
    })

    it('filter deliveries by status and user, and a person leads to those about the person', async () => {
      const page = await signIn(theConsole().token)
      await openEndpoint(page, 'crm')
      await page.getByLabel('userName or userId').fill('nobody')
      await page.getByRole('button', { name: 'Filter' }).click()
      await page.getByText('No delivery matches the filter.').waitFor()
      await page.getByRole('button', { name: 'Of all users' }).click()
      await page.getByLabel('userName or userId').fill(NAME)
      await page.getByLabel('userName or userId').press('Enter')
      await deliveries(page).getByRole('link', { name: NAME }).click()
      expect(page.url()).not.toContain('hooked%40')
      const about = page.getByRole('region', { name: 'Webhook deliveries' })
      await about.getByRole('link', { name: 'user.entered_segment' }).waitFor()
      expect(await faultsOf(page)).toEqual([])
      await about.getByRole('link', { name: 'crm' }).click()
      await deliveries(page).getByRole('link', { name: NAME }).waitFor()
      expect(page.url()).toMatch(/user=[0-9a-f-]{36}/)
      await page.getByLabel('Status').selectOption('failed')
      await page.getByText('No delivery matches the filter.').waitFor()
      expect(await faultsOf(page)).toEqual([])
    })

    it('send a test, and show its result', async () => {
      const page = await signIn(theConsole().token)
      await openEndpoint(page, 'mail')
      theReceiver().answerWith('/mail', [503, 200])
      await confirm(page, 'Test', 'Send a test')
      await page.getByRole('heading', { level: 1, name: 'webhook.test' }).waitFor()
      await expect.poll(() => statusOf(page).textContent(), SOON).toBe('failed')
      await page.getByText('refused', { exact: true }).waitFor()
      await page.getByText('503', { exact: true }).waitFor()
      await page.getByText('"endpointId": "mail"').waitFor()
      expect(await page.getByRole('button', { name: 'Retry …' }).count()).toBe(0)
      expect(await faultsOf(page)).toEqual([])
    })

    it('retry one delivery, and the failed ones of a period', async () => {
      const page = await signIn(theConsole().token)
      theReceiver().answerWith('/mail', [500])
      await untilReceived('/mail', 4, async () => {
        for (const plan of ['pro', 'free'])
          await Promise.all(['hooked-1', 'hooked-2'].map((userName) => setPlan(userName, plan)))
      })
      await openEndpoint(page, 'mail')
      await page.getByLabel('Status').selectOption('failed')
      const failed = deliveries(page).filter({ hasText: 'user.left_segment' })
      await expect.poll(() => failed.count(), SOON).toBe(2)
      theReceiver().answerWith('/mail', [200])
      await failed.first().getByRole('link', { name: 'user.left_segment' }).click()
      await confirm(page, 'Retry', 'Retry this delivery')
      await expect.poll(() => statusOf(page).textContent(), SOON).toBe('delivered')
      await page.goBack()
      await expect.poll(() => failed.count(), SOON).toBe(1)
      await untilReceived('/mail', 1, () => confirm(page, 'Retry failed', 'Retry failed deliveries'))
      await page.getByText('One failed delivery is retried.').waitFor()
      await expect.poll(() => failed.count(), SOON).toBe(0)
      expect(await faultsOf(page)).toEqual([])
    })

    it('replay the records of a period, or some of their events, and show the progress', async () => {
      const page = await signIn(theConsole().token, `${CRM}?tz=utc`)
      await confirm(page, 'Replay', 'Replay records to this endpoint', {
        From: '2026-01-02T00:00:00',
        To: '2026-01-01T00:00:00',
      })
      await page.getByRole('dialog').getByText('to: must be later than from').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Replay …' }).click()
      const dialog = page.getByRole('dialog')
      for (const box of await dialog.getByRole('checkbox').all()) await box.uncheck()
      await dialog.getByRole('checkbox', { name: 'user.left_segment' }).check()
      await dialog.getByRole('button', { name: 'Replay records to this endpoint' }).click()
      const replay = page.getByRole('region', { name: 'Replays' }).getByRole('row').nth(1)
      await replay.getByText('complete', { exact: true }).waitFor(SOON)
      await replay.getByText('user.left_segment', { exact: true }).waitFor()
      await expect.poll(() => replay.getByRole('cell').allTextContents()).toMatchObject({ 3: '2', 4: '0', 5: '0' })
      await deliveries(page).filter({ hasText: 'replay' }).nth(1).getByText('delivered').first().waitFor(SOON)
      expect(await faultsOf(page)).toEqual([])
    })

    it('report a disabled endpoint on the Overview, with the runbook, until an operator enables it', async () => {
      theReceiver().answerWith('/mail', [410])
      await setPlan('hooked-1', 'pro')
      await setPlan('hooked-1', 'free')
      const page = await signIn(theConsole().token, OVERVIEW)
      await page.getByText('The webhook endpoint mail of hooked/shop has been disabled').waitFor(SOON)
      await page.getByRole('link', { name: 'What to do: runbook webhooks' }).waitFor()
      expect(await faultsOf(page)).toEqual([])
      await page.getByRole('link', { name: 'Endpoint mail' }).click()
      await valueOf(page, 'State').getByText('disabled', { exact: true }).waitFor()
      await page.getByText('The endpoint keeps its place in the log: nothing is lost.').waitFor()
      expect(await faultsOf(page)).toEqual([])
      theReceiver().answerWith('/mail', [200])
      await untilReceived('/mail', 1, () => confirm(page, 'Enable', 'Enable this endpoint'))
      await page.reload()
      await expect.poll(() => valueOf(page, 'State').textContent(), SOON).toBe('live')
      await expect.poll(() => valueOf(page, 'Pending').textContent(), SOON).toBe('0')
      expect(await page.getByRole('button', { name: 'Enable …' }).count()).toBe(0)
      await page.getByRole('link', { name: 'Overview' }).click()
      await page.getByText('The webhook endpoint mail').waitFor({ state: 'detached', ...SOON })
    })

    it('hide bodies and addresses from viewers until they reveal a body, log that, and refuse commands', async () => {
      const page = await signIn(theConsole().viewerToken)
      await openLatest(page, 'crm', 'delivered')
      await page.getByText('Hidden because it may contain personal data.').waitFor()
      expect(await page.content()).not.toMatch(/"plan"|got user/)
      expect(await faultsOf(page)).toEqual([])
      const delivery = new URL(page.url()).pathname.slice(1)
      await page.getByRole('button', { name: 'Show the bodies' }).click()
      await page.getByText('"plan": ').waitFor()
      await page.getByText(HOSTILE).first().waitFor()
      expect(await faultsOf(page)).toEqual([])
      const log = await readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')
      expect(log).toMatch(/"action":"webhooks\/.*\/reveal","role":"viewer","by":"Grace".*"deliveryId":"[0-9a-f-]{36}"/)
      expect(log).toMatch(/"action":"webhook replay begun","role":"operator","by":"Grace".*"replayId":"[0-9a-f-]{36}"/)
      expect(log).not.toContain(NAME)

      await page.getByRole('link', { name: 'crm', exact: true }).click()
      await page.getByRole('link', { name: 'h•••' }).first().waitFor()
      expect(await valueOf(page, 'Address').textContent()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/•••$/)
      for (const label of ['Test', 'Retry failed', 'Replay'])
        expect(await page.getByRole('button', { name: `${label} …` }).count()).toBe(0)
      const command = {
        method: 'POST',
        headers: { ...OWN, origin: theConsole().url, cookie: await cookieOf(page) },
        body: '{}',
      }
      for (const route of [`${CRM}/test`, `${CRM}/enable`, `${CRM}/retry`, `${CRM}/replay`])
        expect(await send(route, command)).toEqual({ status: 403, error: 'not-allowed' })
      const [organization, project, endpointId, deliveryId] = delivery.split('/').slice(-4)
      const retry = `webhooks/${organization}/${project}/${endpointId}/deliveries/${deliveryId}/retry`
      expect(await send(retry, command)).toEqual({ status: 403, error: 'not-allowed' })
    })

    it('explain how to declare a webhook, and that an endpoint or a delivery is unknown', async () => {
      const page = await signIn(theConsole().token, `webhooks?project=${EMPTY_PROJECT}`)
      await page.getByText('The project has no webhooks.').waitFor()
      expect(await faultsOf(page)).toEqual([])
      await openPath(page, 'webhooks/demo/shop/nothing')
      await page.getByRole('alert').getByText('The project has no such webhook endpoint.').waitFor()
      await openPath(page, `${CRM}/01a2066e-3ec0-780c-9db5-05517574891e`)
      await page.getByRole('alert').getByText('The endpoint has no such delivery.').waitFor()
      expect(await faultsOf(page)).toEqual([])
      await find(page, 'nobody-hooked')
      await page.getByRole('heading', { name: 'Not identified' }).waitFor()
      await page.getByRole('tab', { name: 'Webhooks' }).click()
      await page.getByText('The project has no webhooks.').waitFor()
      expect(await faultsOf(page)).toEqual([])
    })
  })
}
