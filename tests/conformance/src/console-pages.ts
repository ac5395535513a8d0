import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { freePort } from '@nextvisit/local-stack'
import { startThrowAwayStack, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { type Browser, type BrowserContext, type Page, startBrowser } from '@nextvisit/testing/browser'
import { expect } from 'vitest'

const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let stack: ThrowAwayStack | undefined
let browser: Browser | undefined
/** Requests to other hosts, errors in pages, and dialogs. */
const surprises: string[] = []

/** A project without declarations. */
export const EMPTY_PROJECT = 'demo/empty'
const DEMO = path.resolve(import.meta.dirname, '../../../infra/demo-workspace.yaml')

/** Starts the product with the demo and an empty project, and the browser, for all specs of the console. */
export async function startConsole(): Promise<void> {
  const workspace = `${await readFile(DEMO, 'utf8')}\n      - id: empty\n`
  ;[stack, browser] = await Promise.all([
    startThrowAwayStack({
      workspace,
      consolePort: await freePort(),
      isCheap: true,
      // Specs wait for a receipt, and for a delivery that fails.
      serviceEnvironment: { ERASURE_KEY_RETENTION: '10s', WEBHOOK_RETRY_DELAYS: '1s' },
    }),
    startBrowser(),
  ])
}

export async function stopConsole(): Promise<void> {
  await browser?.close()
  await stack?.remove()
}

/**
 * Closes the pages of a test, which would otherwise keep loading and drawing. Throws if a page asked another host, failed,
 * opened a dialog or broke the policy.
 */
export async function endTest(): Promise<void> {
  for (const context of browser?.contexts() ?? []) await context.close()
  const [surprise] = surprises.splice(0)
  if (surprise !== undefined) throw new Error(`A page did what it may not: ${surprise}`)
}

/** Returns the product behind the console. */
export function consoleStack(): ThrowAwayStack {
  if (!stack) throw new Error('The product is not running: call startConsole first')
  return stack
}

export function theConsole(of = consoleStack()): NonNullable<ThrowAwayStack['console']> {
  if (!of.console) throw new Error('The stack has no console')
  return of.console
}

/** Opens a page in a new browser profile, signed in with a token or signed out. */
export async function openPage(address = '', token?: string): Promise<Page> {
  if (!browser) throw new Error('There is no browser: call startConsole first')
  const context = await browser.newContext({ locale: 'en-US' })
  if (token !== undefined) await openSession(context, token)
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  page.on('request', (request) => {
    if (!request.url().startsWith(theConsole().url)) surprises.push(request.url())
  })
  page.on('pageerror', (error) => surprises.push(String(error)))
  page.on('console', (message) => {
    if (/Content.Security|Trusted/.test(message.text())) surprises.push(message.text())
  })
  page.on('dialog', (dialog) => {
    surprises.push(dialog.message())
    void dialog.dismiss()
  })
  await openPath(page, address)
  return page
}

/** No screen is at this address. The page shows the navigation without reading figures, which costs less than the Overview. */
const NO_SCREEN = 'no-screen'
export const OVERVIEW = ''

/** Opens a page with its own session: only the navigation, or the screen at this address. */
export async function signIn(token: string, address = NO_SCREEN): Promise<Page> {
  const page = await openPage(address, token)
  if (address === NO_SCREEN) await page.getByText('Select a screen in the navigation').waitFor()
  return page
}

/** Signs in with a request, which is faster than the form. The spec about signing in uses the form. */
async function openSession(context: BrowserContext, token: string): Promise<void> {
  const headers = { ...OWN, origin: theConsole().url }
  const data = { token, name: 'Grace' }
  const answer = await context.request.post(`${theConsole().url}/api/session`, { headers, data })
  expect(answer.status()).toBe(200)
}

/** A rule of WCAG 2.2 AA (`wcag22aa`) that is off by default. */
export const WCAG_22 = { 'target-size': { enabled: true } }

/** Looks of texts with checked contrast. */
const checkedLooks = new Set<string>()

/**
 * Code for a page. Returns the looks of the visible texts: everything that decides about contrast, which is the colour, size and weight of the
 * text, and the colours behind it. axe checks no text behind a dialog, and none of disabled elements.
 */
const LOOKS_OF_TEXTS = `(() => {
  const behind = new Map()
  const behindOf = (element) => {
    const known = behind.get(element)
    if (known !== undefined) return known
    const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element)
    const own = [backgroundColor, backgroundImage, opacity].join(' ')
    const parent = element.assignedSlot ?? element.parentElement ?? element.getRootNode().host
    const outer = parent ? behindOf(parent) : ''
    const whole = own === 'rgba(0, 0, 0, 0) none 1' ? outer : outer + ' > ' + own
    behind.set(element, whole)
    return whole
  }
  const elementsIn = (root) =>
    [...root.querySelectorAll('*')].flatMap((one) => [one, ...(one.shadowRoot ? elementsIn(one.shadowRoot) : [])])
  const modal = document.querySelector('dialog:modal')
  const isCheckedText = (element) =>
    (modal?.contains(element) ?? true) &&
    !element.matches(':disabled, :disabled *') &&
    element.checkVisibility({ visibilityProperty: true }) &&
    (element.matches('input, select, textarea') ||
      [...element.childNodes].some(({ nodeType, nodeValue }) => nodeType === Node.TEXT_NODE && nodeValue.trim()))
  const looks = elementsIn(document.body).filter(isCheckedText).map((element) => {
    const { color, fontSize, fontWeight } = getComputedStyle(element)
    return [color, fontSize, fontWeight, behindOf(element)].join(' ')
  })
  return [...new Set(looks)]
})()`

/**
 * Returns the violations that axe-core finds on the current screen. Contrast costs more than all other rules together, so it is checked only
 * if a text has a look that no screen before had.
 */
export async function faultsOf(page: Page, rules = {}): Promise<readonly string[]> {
  // Half a megabyte of code, so once per document.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  const looks = (await page.evaluate(LOOKS_OF_TEXTS)) as readonly string[]
  const enabled = looks.some((look) => !checkedLooks.has(look))
  const chosenRules = { 'color-contrast': { enabled }, ...rules }
  const faults = await page.evaluate(async (chosen) => {
    const { axe } = globalThis as unknown as {
      readonly axe: {
        readonly run: (
          options: object,
        ) => Promise<{ readonly violations: readonly { id: string; nodes: { html: string }[] }[] }>
      }
    }
    // Omits passed checks and selectors from the result, not checks. Only the rule for audio and video needs preloaded files.
    const options = { resultTypes: ['violations'], selectors: false, preload: false, rules: chosen }
    const { violations } = await axe.run(options)
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
  }, chosenRules)
  if (faults.length === 0) for (const look of looks) checkedLooks.add(look)
  return faults
}

/** Identifies a user with *Try it*, and stays there. */
export async function tryAsUser(page: Page, userName: string, plan = 'pro'): Promise<void> {
  await page.getByRole('link', { name: 'Try it' }).click()
  await page.getByLabel('userName').fill(userName)
  await page.getByLabel('Trait plan').selectOption(plan)
  await page.getByRole('button', { name: 'Identify' }).click()
  await page.getByText('"message": "ok"').waitFor()
}

/** Follows a link from elsewhere, such as `forms?hours=1`. */
export async function openPath(page: Page, address: string): Promise<void> {
  await page.goto(`${theConsole().url}/${address}`)
}

/** Searches for a user, and waits for the timeline. */
export async function find(page: Page, searched: string): Promise<void> {
  await page.getByRole('link', { name: 'Users', exact: true }).first().click()
  await page.getByLabel('userName or requestId').fill(searched)
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('tab', { name: 'Timeline' }).waitFor()
}

/** Sends a request like another program. */
export async function send(
  api: string,
  init: RequestInit,
): Promise<{ readonly status: number; readonly error: unknown }> {
  const response = await fetch(`${theConsole().url}/api/${api}`, init)
  const body = (await response.json()) as { readonly error?: unknown }
  return { status: response.status, error: body.error }
}

/** Headers that the console's own pages send. */
export const OWN = { 'content-type': 'application/json', 'x-nextvisit-console': '1' }

export async function cookieOf(page: Page): Promise<string> {
  const [cookie] = await page.context().cookies()
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
  return `${cookie?.name}=${cookie?.value}`
}
