import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Browser, type BrowserContext, type Page, type Request, startBrowser } from '@nextvisit/testing/browser'
import { expect } from 'vitest'
import { eventually, keyNamed, readUserEvents } from '@nextvisit/testing/black-box'
import { callerOf } from './call.ts'
import { product } from './product.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../../..')
/** Route of a visit. */
export const VISIT = '**/v2/sdk/identify-user'
export const TRACK = '**/v2/sdk/track-event'
/** Form of the shop's projects. */
export const FORM = 'nps-after-checkout'
export const HOUR_MS = 3_600_000
export const PATIENTLY = { timeout: 10_000 }
/** Code of a request whose answer implies that earlier requests of the page were seen. */
export const ANY_REQUEST = 'fetch("/app.js").then(() => undefined)'

/**
 * Projects of the fixture: `NEXT_PAGE` requests a visit at the next page, `DELAYED` shows its form after a delay. The others have a
 * form with content.
 */
export type ShopProject = 'NEXT_PAGE' | 'DELAYED' | 'BOOKS' | 'FLOWERS' | 'MUSIC' | 'GAMES' | 'TOOLS' | 'PAPERS'

/** How a page shows forms with content. */
export interface Display {
  /** Language of the browser. */
  readonly locale: string
  readonly place: 'popover' | 'inline'
}

/** A page of the example application, with its history. */
export interface ShopPage {
  readonly page: Page
  /** Forms shown since the page was opened, including before a reload. */
  readonly forms: readonly string[]
  /** Requests since the page was opened, including before a reload: the last part of the path. */
  readonly requests: readonly string[]
  /** Runs code in the page once it is loaded; `nextvisit` is the application's client. */
  readonly run: (code: string) => Promise<unknown>
  /** Advances the timers and clocks of all pages of the profile. */
  readonly pass: (ms: number) => Promise<void>
}

export interface Shop {
  /** Creates a separate browser profile, like another user's machine, whose pages use this project. */
  readonly newProfile: (project: ShopProject, userName: string, display?: Display) => Promise<ShopProfile>
  readonly stop: () => Promise<void>
}

export interface ShopProfile {
  readonly context: BrowserContext
  /** Opens the application. Resolves once its first visit is answered, unless `waits` is false. */
  readonly open: (waits?: boolean) => Promise<ShopPage>
  /** Uncaught errors of the pages. */
  readonly errors: readonly Error[]
}

/** Builds the package, serves the example application (examples/web), and starts a browser. */
export async function startShop(): Promise<Shop> {
  const [browser, example] = await Promise.all([startBrowser(), startExample()])
  return {
    newProfile: (project, userName, display) => newProfile(browser, example.url, { project, userName, display }),
    stop: async () => {
      await browser.close()
      await example.stop()
    },
  }
}

async function startExample(): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const built = ['web', 'web-form'].map((name) =>
    promisify(execFile)('npm', ['run', 'build'], { cwd: path.join(CHECKOUT, 'packages', name) }),
  )
  await Promise.all(built)
  const child = spawn(process.execPath, [path.join(CHECKOUT, 'examples/web/src/serve.ts')], {
    env: { PORT: '0', NEXTVISIT_URL: product().gatewayUrl, NEXTVISIT_SDK_KEY: keyNamed('NEXT_PAGE_SDK_P') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    url: /http\S+/.exec(line.toString())?.[0] ?? '',
    stop: async () => {
      child.kill()
      await once(child, 'close')
    },
  }
}

interface ProfileOptions {
  readonly project: ShopProject
  readonly userName: string
  readonly display: Display | undefined
}

async function newProfile(
  browser: Browser,
  url: string,
  { project, userName, display: { locale, place } = { locale: 'en-US', place: 'popover' } }: ProfileOptions,
): Promise<ShopProfile> {
  const context = await browser.newContext({ locale })
  // The policy of the example allows no inline code.
  await context.addInitScript(`document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
    if (blockedURI === 'inline' || blockedURI === 'eval') reportError(new Error(violatedDirective + ': ' + blockedURI))
  })`)
  // Time passes normally until a test advances it.
  await context.clock.install()
  const config = { host: product().gatewayUrl, key: keyNamed(`${project}_SDK_P`) }
  await context.route('**/config.json', (route) => route.fulfill({ json: config }))
  const errors: Error[] = []
  context.on('weberror', (error) => errors.push(error.error()))
  return {
    context,
    errors,
    open: async (waits = true) => {
      const shopPage = watch(await context.newPage())
      const visited = waits ? firstVisit(shopPage.page) : undefined
      await shopPage.page.goto(`${url}/?user=${userName}&display=${place}`)
      // A call of `visit` would be a second visit if the first is already answered.
      await visited
      if (waits) await shopPage.run('fetch("/app.js").then(() => undefined)')
      return shopPage
    },
  }
}

const isVisit = (request: Request) => request.method() === 'POST' && request.url().endsWith('/v2/sdk/identify-user')

/** Resolves once the first visit of the page was answered or failed. */
async function firstVisit(page: Page): Promise<void> {
  const options = { predicate: isVisit }
  const ends = [page.waitForEvent('requestfinished', options), page.waitForEvent('requestfailed', options)]
  // Only one of them happens.
  await Promise.race(ends.map((end) => end.catch(() => undefined)))
}

function watch(page: Page): ShopPage {
  const forms: string[] = []
  const requests: string[] = []
  page.on('console', (message) => {
    const [, form] = /^Form (.*)$/.exec(message.text()) ?? []
    if (form !== undefined) forms.push(form)
  })
  page.on('request', (request) => {
    const [, route] = /\/v2\/sdk\/(.*)$/.exec(request.url()) ?? []
    if (route !== undefined && request.method() === 'POST') requests.push(route)
  })
  return {
    page,
    forms,
    requests,
    run: async (code) => {
      // `waitForFunction` evaluates text in the page, which the policy of the example forbids. A page may be loading.
      const isLoaded = () => page.evaluate('"nextvisit" in globalThis').catch(() => false)
      await expect.poll(isLoaded, { timeout: 30_000 }).toBe(true)
      return page.evaluate(code)
    },
    pass: (ms) => page.clock.fastForward(ms),
  }
}

/** Waits for at least one form, and resolves to the forms that a page has shown. */
export function shownBy({ forms }: ShopPage): Promise<readonly string[]> {
  return eventually(
    async () => forms,
    () => forms.length > 0,
    10_000,
    20,
  )
}

export function visitsOf({ requests }: ShopPage): number {
  return requests.filter((route) => route === 'identify-user').length
}

/** Replaces the traits in the code of the application's pages from now on. */
export async function setTraits(context: BrowserContext, traits: string): Promise<void> {
  await context.route('**/app.js', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, body: (await response.text()).replace('lastPage: location.pathname', traits) })
  })
}

/** Counts the identifies of a user in the log, including visits. Consumers drop a second record with the same id. */
export async function identifiesOf(userName: string): Promise<number> {
  const records = await readUserEvents(product())
  const own = records.filter(({ value }) => value['type'] === 'IdentifyRequested' && value['userName'] === userName)
  return new Set(own.map(({ value }) => value['id'])).size
}

/** Returns code that shows or hides the page, as another tab in front of it would. */
export function see(state: 'visible' | 'hidden'): string {
  return `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
    Object.defineProperty(document, 'hidden', { value: ${state === 'hidden'}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`
}

/**
 * Code that shows a page, for its first three seconds, only the storage from its start and its own writes: less than a mark
 * of the package lasts. The date of a file uses the real clock, not that of the tests.
 */
export const LATE_STORAGE = `
  const stored = location.origin === 'null' ? {} : localStorage
  const operations = {
    getItem(name) { return this[name] ?? null },
    setItem(name, value) { this[name] = value; stored.setItem(name, value) },
    removeItem(name) { delete this[name]; stored.removeItem(name) },
  }
  const late = Object.assign(Object.create(operations), stored)
  const nowMs = () => new File([], 'now').lastModified
  const untilMs = nowMs() + 3_000
  Object.defineProperty(globalThis, 'localStorage', { get: () => (nowMs() < untilMs ? late : stored) })`

/** Sets the user's plan from the customer's server: the form is for users with that plan, which no page sets. */
export async function subscribeAs(userName: string, project: ShopProject): Promise<void> {
  const { identify } = callerOf(`${project}_ADMIN_P`)
  expect(await identify({ userName, userAttributes: { $set: { plan: 'pro' } } })).toMatchObject({ status: 200 })
}

/** Reports a purchase from the customer's server, so that a form waits for the user. */
export async function buyAs(userName: string, project: ShopProject): Promise<void> {
  const { track } = callerOf(`${project}_ADMIN_P`)
  await subscribeAs(userName, project)
  expect(await track({ userName, eventName: 'Checkout Completed' })).toMatchObject({ body: { formsQueued: 1 } })
}

/** Reads the number of recorded purchases. */
export async function purchasesOf(userName: string, project: ShopProject): Promise<unknown> {
  const { body } = await callerOf(`${project}_ADMIN_P`).readUser(userName)
  const events = body['events'] as Record<string, { readonly count: number }> | undefined
  return events?.['checkout_completed']?.count ?? 0
}
