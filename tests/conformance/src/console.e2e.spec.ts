import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { freePort } from '@nextvisit/local-stack'
import { startThrowAwayStack, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { type Browser, type Page, startBrowser } from '@nextvisit/testing/browser'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

const FORM = 'nps-after-checkout'
const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let stack: ThrowAwayStack
let browser: Browser
/** Addresses of other machines that a page has asked, errors in pages, dialogs that opened. */
const surprises: string[] = []

beforeAll(async () => {
  const [started, launched] = await Promise.all([
    startThrowAwayStack(undefined, { consolePort: await freePort() }),
    startBrowser(),
  ])
  stack = started
  browser = launched
}, 180_000)
afterAll(async () => {
  await browser?.close()
  await stack?.remove()
}, 60_000)
afterEach(() => {
  const [surprise] = surprises.splice(0)
  if (surprise !== undefined) throw new Error(`A page did what it may not: ${surprise}`)
})

function installed(): NonNullable<ThrowAwayStack['console']> {
  if (!stack.console) throw new Error('The stack has no console')
  return stack.console
}

async function openPage(): Promise<Page> {
  const page = await (await browser.newContext({ locale: 'en-US' })).newPage()
  page.setDefaultTimeout(30_000)
  page.on('request', (request) => {
    if (!request.url().startsWith(installed().url)) surprises.push(request.url())
  })
  page.on('pageerror', (error) => surprises.push(String(error)))
  page.on('console', (message) => {
    if (/Content.Security|Trusted/.test(message.text())) surprises.push(message.text())
  })
  page.on('dialog', (dialog) => {
    surprises.push(dialog.message())
    void dialog.dismiss()
  })
  await page.goto(installed().url)
  return page
}

async function signIn(token: string): Promise<Page> {
  const page = await openPage()
  await page.getByLabel('Token').fill(token)
  await page.getByLabel('Your name').fill('Grace')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  return page
}

/** What axe-core finds on the screen as it is. */
async function faultsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      readonly axe: {
        readonly run: () => Promise<{ readonly violations: readonly { id: string; nodes: { html: string }[] }[] }>
      }
    }
    const { violations } = await axe.run()
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
  })
}

async function tryAsUser(page: Page, userName: string, plan = 'pro'): Promise<void> {
  await page.getByRole('link', { name: 'Try it' }).click()
  await page.getByLabel('userName').fill(userName)
  await page.getByLabel('Trait plan').selectOption(plan)
  await page.getByRole('button', { name: 'Identify' }).click()
  await page.getByText('"message": "ok"').waitFor()
}

async function find(page: Page, searched: string): Promise<void> {
  await page.getByRole('link', { name: 'Users', exact: true }).first().click()
  await page.getByLabel('userName or requestId').fill(searched)
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('tab', { name: 'Timeline' }).waitFor()
}

/** A request as another program sends it. */
async function send(api: string, init: RequestInit): Promise<{ readonly status: number; readonly error: unknown }> {
  const response = await fetch(`${installed().url}/api/${api}`, init)
  const body = (await response.json()) as { readonly error?: unknown }
  return { status: response.status, error: body.error }
}

const OWN = { 'content-type': 'application/json', 'x-nextvisit-console': '1' }

async function cookieOf(page: Page): Promise<string> {
  const [cookie] = await page.context().cookies()
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
  return `${cookie?.name}=${cookie?.value}`
}

describe('the console', { timeout: 120_000 }, () => {
  it('refuses a wrong token, and lets in who has the right one', async () => {
    const page = await openPage()
    await page.getByLabel('Token').fill('not-the-token')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('This is not a token of this console').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByLabel('Token').fill(installed().token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Everything works.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  it('shows the main job: an event, the form queued, why, the visit, the form delivered', async () => {
    const page = await signIn(installed().token)
    await tryAsUser(page, 'ada@example.com')
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
          await page.getByRole('button', { name: 'Read again' }).click()
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
        'Identified',
      ])
    expect(await faultsOf(page)).toEqual([])

    // The request of the event leads to the same user.
    const requestId = await page.locator('.entry.event code').textContent()
    await find(page, requestId ?? '')
    await page.getByRole('heading', { name: 'ada@example.com' }).waitFor()
    await page.getByRole('tab', { name: 'Profile' }).click()
    await page.getByRole('row', { name: 'plan pro' }).waitFor()
    expect(await faultsOf(page)).toEqual([])
  })

  it('shows who owns the partitions of a consumer, and that it has no dead letters', async () => {
    const page = await signIn(installed().token)
    await page.getByRole('link', { name: 'Operations' }).click()
    await page.getByRole('link', { name: 'metering' }).click()
    await page.getByText('There are none: metering could read every record.').waitFor()
    expect(await page.getByText('follows').count()).toBe(12)
    expect(page.url()).toContain('operations?consumer=metering')
    expect(await faultsOf(page)).toEqual([])
  })

  it('says why a user has not got a form', async () => {
    const page = await signIn(installed().token)
    await tryAsUser(page, 'bob', 'free')
    await page.getByRole('button', { name: 'Track' }).click()
    await page.getByText('"formsQueued": 0').waitFor()
    await find(page, 'bob')
    await page.getByText(`Form ${FORM} not queued: not-in-audience`).waitFor()
    await page.getByRole('tab', { name: 'Forms' }).click()
    await page.getByText('Not queued: the user was not in the audience.').waitFor()
    expect(page.url()).toContain('tab=forms')
  })

  it('shows a script in a userName as text', async () => {
    const page = await signIn(installed().token)
    const userName = '<img src=x onerror=alert(1)><script>alert(2)</script>'
    await tryAsUser(page, userName)
    await find(page, userName)
    await page.getByRole('heading', { level: 1, name: '<img' }).waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(userName)
  })

  it('masks personal data for viewers until they ask, logs that, and lets them change nothing', async () => {
    const page = await signIn(installed().viewerToken)
    expect(await page.getByRole('link', { name: 'Try it' }).count()).toBe(0)
    await find(page, 'ada@example.com')
    await page.getByRole('heading', { name: 'a•••' }).waitFor()
    await page.getByRole('tab', { name: 'Forms' }).click()
    await page.getByText('trait plan is "pro"; the user has "•••"').waitFor()
    expect(await page.content()).not.toContain('ada@example.com')
    expect(await faultsOf(page)).toEqual([])
    const change = {
      method: 'POST',
      headers: { ...OWN, origin: installed().url, cookie: await cookieOf(page) },
      body: JSON.stringify({ userName: 'x' }),
    }
    expect(await send('try/visit', change)).toEqual({ status: 403, error: 'not-allowed' })

    await page.getByRole('button', { name: 'Show personal data' }).click()
    await page.getByRole('heading', { name: 'ada@example.com' }).waitFor()
    await page.getByText('trait plan is "pro"; the user has "pro"').waitFor()
    const log = await readFile(path.join(stack.dataDirectory, 'logs/console.log'), 'utf8')
    expect(log).toMatch(/"action":"users\/.*reveal","role":"viewer","by":"Grace".*"userId":"[0-9a-f-]{36}"/)
    expect(log).not.toContain('ada@example.com')
  })

  it('answers nobody who is not signed in, no other site, and sets a strict policy', async () => {
    expect(await send('overview', {})).toEqual({ status: 401, error: 'signed-out' })
    const cookie = await cookieOf(await signIn(installed().token))
    const body = JSON.stringify({ userName: 'x' })
    const from = (headers: Record<string, string>) =>
      send('try/visit', { method: 'POST', body, headers: { cookie, ...headers } })
    const foreign = { status: 403, error: 'foreign-request' }
    expect(await from({ 'content-type': 'application/json', origin: installed().url })).toEqual(foreign)
    expect(await from({ ...OWN, origin: 'https://elsewhere.example' })).toEqual(foreign)
    expect(await from(OWN)).toEqual(foreign)

    const { headers } = await fetch(installed().url)
    const policy = headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toContain('unsafe')
  })

  it('names a consumer that is stopped, and the runbook', async () => {
    const page = await signIn(installed().token)
    await page.getByText('Everything works.').waitFor()
    await stack.stopReplica('metering')
    await page.getByText('metering does not answer: it is stopped, or hangs.').waitFor()
    await page.getByText('docs/runbooks/lag.md').first().waitFor()
    expect(await faultsOf(page)).toEqual([])
  })
})
