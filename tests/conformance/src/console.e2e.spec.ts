import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { callCarefully, eventually, type GatewayAnswer } from '@nextvisit/testing/black-box'
import { signInOn } from '@nextvisit/testing/browser'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { describeConsoleCatalog } from './console-catalog.suite.ts'
import { describeConsoleDeadLetters } from './console-dead-letters.suite.ts'
import { describeConsoleErasure } from './console-erasure.suite.ts'
import { describeConsoleForms } from './console-forms.suite.ts'
import { describeConsoleReplay } from './console-replay.suite.ts'
import { describeConsoleSegments } from './console-segments.suite.ts'
import { describeConsoleSimulation } from './console-simulation.suite.ts'
import { describeConsoleUserExport } from './console-user-export.suite.ts'
import { describeConsoleWebhooks } from './console-webhooks.suite.ts'
import {
  consoleStack,
  cookieOf,
  endTest,
  faultsOf,
  find,
  openPage,
  openPath,
  OVERVIEW,
  OWN,
  send,
  signIn,
  startConsole,
  stopConsole,
  theConsole,
  tryAsUser,
} from './console-pages.ts'
import { describeConsoleLive, expectNothingFolded } from './console-live.suite.ts'
import { describeConsoleRegistry } from './console-registry.suite.ts'

const FORM = 'nps-after-checkout'

/** Whether every item of a batch of events was recorded. */
function isRecorded({ answer }: GatewayAnswer): boolean {
  const results = (answer['results'] ?? [{ status: undefined }]) as readonly { readonly status?: number }[]
  return results.every(({ status }) => status === 202)
}

beforeAll(startConsole, 180_000)
afterAll(stopConsole, 60_000)
afterEach(endTest)

describe('the console', { timeout: 120_000 }, () => {
  it('shows the main job: an event, the queued form, the reason, the visit, the delivered form', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, 'ada@example.com')
    // The browser keeps its history after a sign-out.
    expect(page.url()).not.toContain('ada')
    await page.getByRole('link', { name: 'Why, gate by gate' }).click()
    await page.getByText('Waits for: event checkout_completed (0 of 1)').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.goBack()
    await page.getByLabel('userName').fill('ada@example.com')
    await page.getByRole('button', { name: 'Track' }).click()
    await page.getByText('"formsQueued": 1').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('link', { name: 'Why, gate by gate' }).click()
    const gates = page.getByRole('list', { name: `Gates of ${FORM}` })
    await gates.getByText('trait plan is "pro"; the user has "pro"').waitFor()
    expect(await gates.getByRole('img', { name: 'passed' }).count()).toBe(6)
    await page.getByRole('cell', { name: 'waiting' }).waitFor()
    expect(await faultsOf(page)).toEqual([])

    await page.getByRole('link', { name: 'Try it' }).click()
    await page.getByLabel('userName').fill('ada@example.com')
    await page.getByRole('button', { name: 'Visit' }).click()
    await page.getByText(`"nextFeedbackId": "${FORM}"`).waitFor()
    await page.getByRole('link', { name: 'Timeline of ada@example.com' }).click()
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Refresh' }).click()
          return page.locator('.timeline .title').allTextContents()
        },
        { timeout: 30_000 },
      )
      .toEqual([
        `Form ${FORM} delivered`,
        `Visit answered with form ${FORM}`,
        'Visit',
        `Form ${FORM} queued`,
        'Event Checkout Completed',
        'Entered segment paying',
        'Identified',
      ])
    expect(await faultsOf(page)).toEqual([])

    // The request of the event leads to the same user.
    const requestId = await page.locator('.entry.event code').textContent()
    await find(page, requestId ?? '')
    await page.getByRole('heading', { name: 'ada@example.com' }).waitFor()
    expect(page.url()).toContain(`request=${requestId}`)
    const marked = page.locator('.entry[aria-current]')
    await expect
      .poll(() => marked.locator('.title').allTextContents())
      .toEqual([`Form ${FORM} queued`, 'Event Checkout Completed'])
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('tab', { name: 'Profile' }).click()
    await page.getByRole('row', { name: 'plan "pro"' }).waitFor()
    expect(await faultsOf(page)).toEqual([])
  })

  it('shows the owners of the partitions of a consumer, and that it has no dead letters', async () => {
    const page = await signIn(theConsole().token)
    await page.getByRole('link', { name: 'Operations' }).click()
    await page.getByRole('link', { name: 'metering' }).click()
    await page.getByText('No dead letter of metering is waiting for a decision.').waitFor()
    expect(await page.getByText('follows').count()).toBe(12)
    expect(page.url()).toContain('operations?consumer=metering')
    expect(await faultsOf(page)).toEqual([])
  })

  it('has a button that skips to the content of the screen', async () => {
    const page = await signIn(theConsole().token)
    await page.getByRole('link', { name: 'Users', exact: true }).click()
    await page.getByLabel('userName or requestId').waitFor()
    await page.getByRole('button', { name: 'Skip to content' }).press('Enter')
    await page.locator('#content:focus').waitFor()
    expect(new URL(page.url()).pathname).toBe('/users')
    expect(await page.title()).toBe('Users · Nextvisit')
  })

  it('reports that the console hangs, and why the session ended', async () => {
    const page = await signIn(theConsole().token, OVERVIEW)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByRole('link', { name: 'Users', exact: true }).click()
    await page.route('**/api/overview', () => undefined)
    // The page gives up after a tenth of a second instead of eight.
    await page.evaluate('AbortSignal.usual = AbortSignal.timeout; AbortSignal.timeout = () => AbortSignal.usual(100)')
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('The console has not answered for 8 s').waitFor()
    await page.evaluate('AbortSignal.timeout = AbortSignal.usual')
    await page.unroute('**/api/overview')
    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('You were signed out').waitFor()
    expect(await faultsOf(page)).toEqual([])
  })

  it('explains why a user got no form', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, 'bob', 'free')
    await page.getByRole('button', { name: 'Track' }).click()
    await page.getByText('"formsQueued": 0').waitFor()
    await find(page, 'bob')
    await page.getByText(`Form ${FORM} not queued: not-in-audience`).waitFor()
    await page.getByRole('tab', { name: 'Forms' }).click()
    await page.getByText('Not queued: the user was not in the audience.').waitFor()
    expect(page.url()).toContain('tab=forms')
  })

  it('shows a long timeline in parts', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, 'carla', 'free')
    const { gatewayUrl, keys } = consoleStack()
    const items = Array.from({ length: 250 }, () => ({ type: 'track', userName: 'carla', eventName: 'Page Viewed' }))
    // A busy gateway leaves some items unanswered. The key lets it record these alone.
    const batch = { gatewayUrl, route: '/v2/admin/batch', apiKey: keys.admin, body: { items }, idempotencyKey: 'carla' }
    expect(await eventually(() => callCarefully(batch), isRecorded, 30_000, 500)).toSatisfy(isRecorded)
    await find(page, 'carla')
    await page.getByText('251 entries, newest first').waitFor()
    expect(await page.locator('.entry').count()).toBe(200)
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('button', { name: 'Show older entries' }).click()
    const oldest = page.locator('.entry.identify')
    const requestId = await oldest.locator('code').textContent()
    expect(await page.locator('.entry').count()).toBe(251)

    // The requested entry is shown, however old.
    await find(page, requestId ?? '')
    await page.locator('.entry.identify:focus').waitFor()
  })

  it('finds a refused request and its user', async () => {
    const page = await signIn(theConsole().token)
    const { gatewayUrl, keys } = consoleStack()
    const headers = { 'content-type': 'application/json', 'x-api-key': keys.admin }
    const refused = await fetch(`${gatewayUrl}/v2/admin/track-event`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ userName: 'refused', eventName: 'Checkout Completed' }),
    })
    expect(refused.status).toBe(404)
    const requestId = refused.headers.get('x-request-id') ?? ''
    const kept = async () => (await fetch(`${gatewayUrl}/v2/admin/refusals`, { headers })).text()
    await expect.poll(kept, { timeout: 30_000 }).toContain(requestId)
    await find(page, requestId)
    const marked = page.locator('.entry[aria-current] .title')
    await expect.poll(() => marked.allTextContents()).toEqual([expect.stringContaining('Refused: ')])
    expect(await faultsOf(page)).toEqual([])
  })

  it('finds a user whose name has two UTF-16 units for each character', async () => {
    const page = await signIn(theConsole().token)
    const userName = '😀'.repeat(200)
    await tryAsUser(page, userName)
    await find(page, userName)
    await page.getByRole('heading', { level: 1, name: '😀' }).waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(userName)
  })

  it('shows the beginning of a long value, and how much it leaves out', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, 'long-values')
    const { gatewayUrl, keys } = consoleStack()
    const properties = Object.fromEntries(Array.from({ length: 15 }, (_, nth) => [`text ${nth}`, 'x'.repeat(2_000)]))
    const items = [{ type: 'track', userName: 'long-values', eventName: 'Page Viewed', properties }]
    await callCarefully({ gatewayUrl, route: '/v2/admin/batch', apiKey: keys.admin, body: { items } })
    await find(page, 'long-values')
    const event = page.locator('.entry.event')
    await event.getByText('… (the beginning of 2 kB)').first().waitFor()
    await event.getByText('more values of this record: not shown').waitFor()
    expect(await faultsOf(page)).toEqual([])
  })

  it('shows a script in a userName as text', async () => {
    const page = await signIn(theConsole().token)
    const userName = '<img src=x onerror=alert(1)><script>alert(2)</script>'
    await tryAsUser(page, userName)
    await find(page, userName)
    await page.getByRole('heading', { level: 1, name: '<img' }).waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(userName)
  })

  it('refuses a wrong token, and accepts a valid one', async () => {
    const page = await openPage()
    await page.getByLabel('Token').fill('not-the-token')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('This is not a token of this console').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await signInOn(page, theConsole().token)
    // Not in the first test: for seconds after a start, partitions have no owner.
    await page.getByText('Everything works.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  it('offers the sign-in with an identity provider, and says why it has failed', async () => {
    const page = await openPage()
    const roles = { claim: 'groups', operators: ['platform'], viewers: ['staff'] }
    const offer = (provider: object) =>
      page.route('**/api/session/ways', (route) => route.fulfill({ json: { hasTokens: true, provider, roles } }))
    await offer({ name: 'Staff SSO', isAvailable: true })
    await page.goto(new URL('users?problem=no-role', theConsole().url).href)
    await page.getByText('Ask its administrators for a value of groups: platform to make changes, or staff').waitFor()
    expect(await faultsOf(page)).toEqual([])
    const begun = page.waitForRequest('**/api/session/begin?*')
    await page.getByRole('button', { name: 'Sign in with another account of Staff SSO' }).click()
    expect(new URL((await begun).url()).search).toBe('?return=%2Fusers&again=1')
    await offer({ name: 'Staff SSO', isAvailable: false })
    await page.goto(theConsole().url)
    await page.getByText('Staff SSO does not answer').waitFor()
    expect(await page.getByRole('button', { name: 'Sign in with Staff SSO' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Sign in with the token' }).waitFor()
    expect(await faultsOf(page)).toEqual([])
  })

  it('masks personal data for viewers until they reveal it, logs that, and refuses changes', async () => {
    const page = await signIn(theConsole().viewerToken)
    expect(await page.getByRole('link', { name: 'Try it' }).count()).toBe(0)
    await find(page, 'ada@example.com')
    await page.getByRole('heading', { name: 'a•••' }).waitFor()
    await page.getByRole('tab', { name: 'Forms' }).click()
    await page.getByText('trait plan is "pro"; the user has "•••"').waitFor()
    expect(await page.content()).not.toContain('ada@example.com')
    expect(await faultsOf(page)).toEqual([])
    const change = {
      method: 'POST',
      headers: { ...OWN, origin: theConsole().url, cookie: await cookieOf(page) },
      body: JSON.stringify({ userName: 'x' }),
    }
    expect(await send('try/visit', change)).toEqual({ status: 403, error: 'not-allowed' })

    await page.getByRole('button', { name: 'Show personal data' }).click()
    await page.getByRole('heading', { name: 'ada@example.com' }).waitFor()
    await page.getByText('trait plan is "pro"; the user has "pro"').waitFor()
    const log = await readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')
    expect(log).toMatch(/"action":"users\/.*reveal","role":"viewer","by":"Grace".*"userId":"[0-9a-f-]{36}"/)
    expect(log).not.toContain('ada@example.com')
  })

  it('reports once that the profile cannot be read, and reveals the timeline to viewers', async () => {
    const page = await signIn(theConsole().viewerToken)
    const body = JSON.stringify({ error: 'no-answer', message: 'The profile cannot be read.' })
    await page.route('**/api/users/demo/shop/*', (route) => route.fulfill({ status: 503, body }))
    await find(page, 'bob')
    const plan = page.locator('.entry.identify dd').first()
    await expect.poll(() => plan.textContent()).toBe('•••')
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('button', { name: 'Show personal data' }).click()
    await expect.poll(() => plan.textContent()).toBe('"free"')
    await page.getByRole('tab', { name: 'Profile' }).click()
    expect(await page.getByText('The profile cannot be read.').count()).toBe(1)
    expect(await faultsOf(page)).toEqual([])
  })

  describeConsoleUserExport()
  describeConsoleErasure()
  describeConsoleLive()
  describeConsoleForms()
  describeConsoleSegments()
  describeConsoleWebhooks()
  describeConsoleRegistry()
  describeConsoleReplay()
  describeConsoleSimulation()

  it('refuses requests without a session or from other sites, and sets a strict policy', async () => {
    expect(await send('overview', {})).toEqual({ status: 401, error: 'signed-out' })
    const cookie = await cookieOf(await signIn(theConsole().token))
    const body = JSON.stringify({ userName: 'x' })
    const from = (headers: Record<string, string>) =>
      send('try/visit', { method: 'POST', body, headers: { cookie, ...headers } })
    const foreign = { status: 403, error: 'foreign-request' }
    expect(await from({ 'content-type': 'application/json', origin: theConsole().url })).toEqual(foreign)
    expect(await from({ ...OWN, origin: 'https://elsewhere.example' })).toEqual(foreign)
    expect(await from(OWN)).toEqual(foreign)

    const { headers } = await fetch(theConsole().url)
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toContain('unsafe')
  })

  describeConsoleCatalog()
  describeConsoleDeadLetters()

  it('leads from a runbook to a section of another one', async () => {
    const page = await signIn(theConsole().token, 'runbooks/upgrade')
    await page.getByRole('link', { name: 'Postgres is older than Kafka' }).click()
    const section = page.getByRole('heading', { name: 'Postgres is older than Kafka' })
    await section.waitFor()
    expect(new URL(page.url())).toMatchObject({ hash: '#postgres-is-older-than-kafka' })
    await page.setViewportSize({ width: 390, height: 120 })
    await page.reload()
    await section.waitFor()
    const top = () =>
      page.evaluate<number>(`document.getElementById('postgres-is-older-than-kafka').getBoundingClientRect().top`)
    await expect.poll(top).toBeLessThan(120)
  })

  it('names a stopped consumer, and the runbook', async () => {
    const page = await signIn(theConsole().token, OVERVIEW)
    // From describeConsoleRegistry. Limits are read once a minute.
    await page.getByText('limited: events a month, 3 of 3').waitFor({ timeout: 90_000 })
    await page.getByRole('link', { name: 'Usage of limited/' }).waitFor()
    await consoleStack().stopReplica('metering')
    await page.getByText('metering does not answer: it is stopped or hangs.').waitFor()
    await page.getByText('no answer').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('link', { name: 'What to do: runbook lag' }).first().click()
    await page.getByRole('heading', { name: 'A consumer lags' }).waitFor()
    expect(await page.title()).toBe('lag · Runbook · Nextvisit')
    expect(await faultsOf(page)).toEqual([])
    await expectNothingFolded(page)
    await openPath(page, 'operations?consumer=metering')
    await page.getByRole('region', { name: 'No answer' }).getByText('metering does not answer: 127.0.0.1:').waitFor()
    expect(await faultsOf(page)).toEqual([])
  })
})
