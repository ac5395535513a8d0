import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Browser, type BrowserContext, type Page, startBrowser } from '@nextvisit/testing/browser'
import type { FormAnswer, Offer } from '../src/index.ts'

const FOLDER = path.resolve(import.meta.dirname, '..')
const TSDOWN = path.resolve(FOLDER, '../../node_modules/.bin/tsdown')
const AXE = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const ORIGIN = 'https://shop.example'
const STRICT_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'"

/** A page with a form. */
export interface FormPage {
  readonly page: Page
  /** The answers that the form has sent since the page was opened, including before a reload. */
  readonly sent: readonly FormAnswer[]
  /** The events of the form, such as `nextvisit-finished offer-1`. */
  readonly events: readonly string[]
  /** Violations of the policy, and uncaught errors. */
  readonly faults: string[]
  /** Determines the results of the next answers. */
  readonly answerWith: (result: 'taken' | 'rejected' | 'never') => void
}

interface FormPageOptions {
  readonly offer: Offer
  readonly display?: 'popover' | 'inline' | undefined
  /** The source of the form's offer, which also sends its answers: the page itself, or a client of `@nextvisit/web`. */
  readonly by?: 'page' | 'client'
  readonly words?: object | undefined
  readonly pageDirection?: 'ltr' | 'rtl'
  readonly context?: Parameters<Browser['newContext']>[0]
  /** Code of the page before it adds the form. */
  readonly before?: string
}

export interface FormPages {
  readonly open: (options: FormPageOptions) => Promise<FormPage>
  readonly closeAll: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Builds the package in a folder of its own, because another spec packs it, and starts a browser. */
export async function startFormPages(): Promise<FormPages> {
  const dist = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-form-'))
  const options = [
    '--no-config',
    '--format',
    'esm',
    '--target',
    'es2022',
    '--platform',
    'browser',
    '--minify',
    '--no-dts',
  ]
  const built = promisify(execFile)(TSDOWN, ['src/index.ts', ...options, '-d', dist], { cwd: FOLDER })
  const [browser] = await Promise.all([startBrowser(), built])
  const code = await readFile(path.join(dist, 'index.mjs'), 'utf8').catch(() =>
    readFile(path.join(dist, 'index.js'), 'utf8'),
  )
  return {
    open: async (pageOptions) => openPage(await browser.newContext(pageOptions.context), code, pageOptions),
    closeAll: async () => {
      for (const context of browser.contexts()) await context.close()
    },
    stop: async () => {
      await browser.close()
      await rm(dist, { recursive: true, force: true })
    },
  }
}

async function openPage(context: BrowserContext, code: string, options: FormPageOptions): Promise<FormPage> {
  const { offer, display, words, pageDirection = 'ltr', before = '', by = 'page' } = options
  const sent: FormAnswer[] = []
  const events: string[] = []
  const faults: string[] = []
  let result = 'taken'
  const files: Readonly<Record<string, readonly [type: string, body: string]>> = {
    '/': [
      'text/html',
      `<!doctype html><html lang="en" dir="${pageDirection}"><head><title>Shop</title><script type="module" src="/page.js"></script></head>
      <body><main><h1>Shop</h1><button>Buy</button> <label>Search <input></label></main></body></html>`,
    ],
    '/web-form.js': ['text/javascript', code],
    '/page.js': [
      'text/javascript',
      `import { unfinishedOffers } from '/web-form.js'
      document.addEventListener('securitypolicyviolation', (event) => fault('policy: ' + event.violatedDirective))
      for (const name of ['nextvisit-finished', 'nextvisit-dismissed'])
        document.addEventListener(name, ({ detail }) => note(name + ' ' + detail.offerId))
      ${before}
      const form = document.createElement('nextvisit-form')
      // A page gets an offer once; after a reload, only the package knows it.
      const isReloaded = performance.getEntriesByType('navigation')[0].type === 'reload'
      const offer = ${JSON.stringify(offer)}
      form.words = ${JSON.stringify(words) ?? 'undefined'}
      if (${by === 'client'}) {
        const onForm = (handle) => {
          if (!isReloaded) handle({ ...offer, feedbackId: offer.formId, answer: () => {} })
          return () => {}
        }
        form.client = { scope: 'nextvisit:ada:', onForm, answer: (answer) => sendAnswer(answer) }
      } else {
        form.offer = isReloaded ? unfinishedOffers()[0] : offer
        form.send = (answer) => sendAnswer(answer)
      }
      ${display === undefined ? '' : `form.setAttribute('display', '${display}')`}
      document.querySelector('main').append(form)`,
    ],
  }
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  page.on('pageerror', (error) => faults.push(String(error)))
  await page.exposeFunction('fault', (text: string) => void faults.push(text))
  await page.exposeFunction('note', (text: string) => void events.push(text))
  await page.exposeFunction('sendAnswer', async (answer: FormAnswer) => {
    sent.push(answer)
    if (result === 'rejected') throw new Error('The gateway does not answer')
    if (result === 'never') await new Promise(() => {})
  })
  await page.route('**/*', (route) => {
    const [contentType, body] = files[new URL(route.request().url()).pathname] ?? ['text/plain', '']
    return route.fulfill({ contentType, body, headers: { 'content-security-policy': STRICT_POLICY } })
  })
  await page.goto(ORIGIN)
  await page.locator('nextvisit-form form').waitFor()
  return { page, sent, events, faults, answerWith: (next) => (result = next) }
}

/** Returns the violations that axe-core finds on the page, in all of its rules and in those of WCAG 2.2 AA. */
export async function violationsOn(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  return page.evaluate(async () => {
    interface Axe {
      readonly run: (
        options: object,
      ) => Promise<{ readonly violations: readonly { id: string; nodes: { html: string }[] }[] }>
    }
    const { axe } = globalThis as unknown as { readonly axe: Axe }
    // WCAG 2.2 has a rule that is off by default. Only the rule for audio and video needs preloaded files.
    const rules = { 'target-size': { enabled: true } }
    const { violations } = await axe.run({ resultTypes: ['violations'], selectors: false, preload: false, rules })
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
  })
}
