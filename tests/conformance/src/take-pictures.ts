/** `pnpm pictures`: takes the pictures of the console in docs/pictures, from a running product with a shop's data. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '@nextvisit/local-stack'
import { compiledCode } from '@nextvisit/testing'
import {
  callGateway,
  runPacedLoad,
  startThrowAwayStack,
  type ThrowAwayStack,
  withProducer,
} from '@nextvisit/testing/black-box'
import { type Page, signInOn, startBrowser } from '@nextvisit/testing/browser'
import { find, theConsole } from './console-pages.ts'
import { type HookReceiver, startHookReceiver } from './hook-receiver.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const FOLDER = path.join(ROOT, 'docs/pictures')
const CLI = path.join(ROOT, 'tools/cli/src/main.ts')
const PER_SECOND = 6
const LOAD_MS = 90_000

const PEOPLE =
  'ada grace alan barbara edsger frances donald margaret tim radia linus karen ken adele dennis jean john hedy niklaus katherine leslie mary guido dorothy'.split(
    ' ',
  )

/** Requests of each person, in turn. Seven do not divide the number of people, so each person sends all of them. */
const STEPS = ['Page Viewed', 'visit', 'Checkout Completed', 'Page Viewed', 'identify', 'visit', 'Invite Sent'] as const

/** The second form of docs/tutorial/first-form.md. */
const SECOND_FORM = `
          - id: big-spender-interview
            name: May we ask about your order?
            triggers:
              - { event: checkout_completed, where: { property: total, atLeast: 100 } }
            audience: { segment: paying }
            priority: 20
`

const say = (line: string): void => console.error(line)

/** Returns the demo's workspace file with a second form, and with the plan that its comment shows, but smaller. */
async function workspace(): Promise<string> {
  const demo = await readFile(path.join(ROOT, 'infra/demo-workspace.yaml'), 'utf8')
  const plan = 'plan: { eventsPerMonth: 1000, monthlyActiveUsers: 100, uniqueEvents: 50, uniqueTraits: 20 }'
  const planned = demo.replace(/# plan: .*/, plan)
  if (!planned.includes(plan)) throw new Error('The demo workspace shows no plan to replace')
  return `${planned.trimEnd()}${SECOND_FORM}`
}

/** Applies the file again, with two webhooks. The receiver answers some requests of one with a 500. */
async function applyWebhooks({ dataDirectory }: ThrowAwayStack, file: string, receiver: HookReceiver): Promise<void> {
  const webhooks = `
        webhooks:
          - { id: crm, url: "${receiver.url}/crm", secret: $SHOP_HOOK_SECRET, include: [traits] }
          - { id: warehouse, url: "${receiver.url}/warehouse", secret: $SHOP_HOOK_SECRET, events: [form.answered] }

        segments:`
  const name = 'workspace-with-webhooks.yaml'
  await writeFile(path.join(dataDirectory, name), file.replace('\n        segments:', webhooks))
  receiver.answerWith('/warehouse', [200, 200, 500, 200, 200, 200, 500, 500, 200])
  const SHOP_HOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const env = { ...compiledCode(), NEXTVISIT_DATA: dataDirectory, SHOP_HOOK_SECRET }
  await promisify(execFile)(process.execPath, [CLI, 'apply', name], { cwd: dataDirectory, env })
}

/** Sends users with traits, events, visits and answers. Some events are of an unknown user, and refused. */
async function sendLoad({ gatewayUrl, keys }: ThrowAwayStack, sequence: number): Promise<void> {
  const person = sequence % PEOPLE.length
  const userName = PEOPLE[person]
  const step = sequence < PEOPLE.length ? 'identify' : STEPS[sequence % STEPS.length]
  const post = (route: string, apiKey: string, body: object) =>
    callGateway({ gatewayUrl, route, apiKey, body: { userName, ...body } })
  if (step === 'identify') {
    const $set = {
      plan: person % 3 === 2 ? 'free' : 'pro',
      language: person % 2 === 0 ? 'en' : 'fr',
      seats: person + 1,
    }
    await post('/v2/admin/identify-user', keys.admin, { userAttributes: { $set } })
  } else if (step === 'visit') {
    const { answer } = await post('/v2/sdk/identify-user', keys.sdk, {})
    await answerForm(answer['nextFeedback'], sequence, (body) => post('/v2/sdk/answers', keys.sdk, body))
  } else {
    const properties = step === 'Checkout Completed' ? { properties: { total: 20 + ((sequence * 37) % 100) } } : {}
    const unknown = sequence % 10 === 9 ? { userName: 'guest' } : {}
    await post('/v2/admin/track-event', keys.admin, { eventName: step, ...properties, ...unknown })
  }
}

const REASONS = ['The parcel was late.', 'Shipping costs too much.', 'I missed a size table.'] as const

/** Answers the form of a visit if it has questions: mostly well, and sometimes not at all. */
async function answerForm(offer: unknown, sequence: number, send: (body: object) => Promise<unknown>): Promise<void> {
  const { offerId, formId, revision } = (offer ?? {}) as Readonly<Record<string, unknown>>
  if (revision === undefined || sequence % 4 === 3) return
  // Users read before they answer.
  await sleep(2_000 + 500 * (sequence % 7))
  const score = [10, 9, 8, 9, 4, 10, 7, 2][sequence % 8] ?? 10
  const reason = score <= 6 ? { reason: REASONS[sequence % REASONS.length] } : {}
  const answers = { score, ...reason, contact: sequence % 3 > 0 }
  const status = sequence % 9 === 0 ? 'dismissed' : 'finished'
  await send({ offerId, formId, revision, answers, status })
}

async function takePictures(stack: ThrowAwayStack): Promise<void> {
  const { url, token } = theConsole(stack)
  const browser = await startBrowser()
  try {
    const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 860 } })
    const page = await context.newPage()
    await page.goto(url)
    await signInOn(page, token)
    await runPacedLoad(PER_SECOND, AbortSignal.timeout(LOAD_MS), (sequence) => sendLoad(stack, sequence))
    await take(page, 'overview')
    await open(page, 'Live')
    await take(page, 'live')
    await open(page, 'Forms')
    await take(page, 'forms')
    await page.getByRole('link', { name: 'nps-after-checkout' }).click()
    await take(page, 'results')
    await open(page, 'Registry and usage')
    await take(page, 'registry-and-usage')
    await open(page, 'Webhooks')
    await page.getByRole('link', { name: 'warehouse' }).click()
    await take(page, 'webhooks')
    await publishUnreadable(stack)
    await open(page, 'Operations')
    await take(page, 'operations')
    await page.getByRole('link', { name: 'Changes' }).click()
    await page.getByText('Difference').first().click()
    await take(page, 'changes')
    await page.emulateMedia({ colorScheme: 'dark' })
    await find(page, 'grace')
    await page.getByRole('tab', { name: 'Forms: why, why not' }).click()
    await take(page, 'why')
  } finally {
    await browser.close()
  }
}

function open(page: Page, name: string): Promise<void> {
  return page.getByRole('navigation').getByRole('link', { name, exact: true }).first().click()
}

/** Publishes a record as another program may. Each consumer makes it a dead letter. */
async function publishUnreadable(stack: ThrowAwayStack): Promise<void> {
  const messages = [{ key: 'another-program', value: 'not JSON', headers: { 'schema-version': '1' } }]
  await withProducer(stack, (producer) => producer.send({ topic: 'user-events', messages }))
}

async function take(page: Page, name: string): Promise<void> {
  // Charts and lists load with the next answer.
  await sleep(6_000)
  for (const loading of await page.getByText(/^Loading /).all())
    await loading.waitFor({ state: 'hidden', timeout: 60_000 })
  await page.screenshot({ path: path.join(FOLDER, `${name}.png`) })
  say(`docs/pictures/${name}.png`)
}

say('Starting a stack …')
await mkdir(FOLDER, { recursive: true })
const file = await workspace()
const receiver = await startHookReceiver((type) => `Got ${type}`)
const stack = await startThrowAwayStack({ workspace: file, consolePort: await freePort() })
try {
  await applyWebhooks(stack, file, receiver)
  say(`Sending ${PER_SECOND} requests a second for ${LOAD_MS / 1_000} s …`)
  await takePictures(stack)
} finally {
  await stack.remove()
  await receiver.stop()
}
