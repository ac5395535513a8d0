/** `pnpm pictures`: takes the pictures of the console that docs/guides/console.md shows, from a running product. */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@nextvisit/local-stack'
import { callGateway, runPacedLoad, startThrowAwayStack, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { type Page, signInOn, startBrowser } from '@nextvisit/testing/browser'
import { theConsole } from './console-pages.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../../docs/pictures')
const USERS = 40
const PER_SECOND = 6
const LOAD_MS = 90_000

const say = (line: string): void => console.error(line)

/** Sends users with traits, events and visits. Every tenth request is refused. */
async function sendLoad({ gatewayUrl, keys }: ThrowAwayStack, sequence: number): Promise<void> {
  const userName = sequence % 10 === 9 ? 'nobody' : `user-${sequence % USERS}`
  const post = (route: string, apiKey: string, body: object) =>
    callGateway({ gatewayUrl, route, apiKey, body: { userName, ...body } })
  if (sequence < USERS || sequence % 10 === 5)
    await post('/v2/admin/identify-user', keys.admin, {
      userName: `user-${sequence % USERS}`,
      userAttributes: { $set: { plan: sequence % 3 === 0 ? 'free' : 'pro' } },
    })
  else if (sequence % 10 === 6) await post('/v2/sdk/identify-user', keys.sdk, {})
  else await post('/v2/admin/track-event', keys.admin, { eventName: 'Checkout Completed' })
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
    for (const name of ['Live', 'Forms', 'Registry and usage', 'Operations']) {
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).first().click()
      await take(page, name.toLowerCase().replaceAll(' ', '-'))
    }
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.getByRole('link', { name: 'Try it' }).click()
    for (const name of ['Identify', 'Track', 'Visit']) {
      await page.getByRole('button', { name, exact: true }).click()
      await sleep(2_000)
    }
    await page.getByRole('link', { name: 'Why, gate by gate' }).click()
    await take(page, 'why')
  } finally {
    await browser.close()
  }
}

async function take(page: Page, name: string): Promise<void> {
  // Charts and lists load with the next answer.
  await sleep(6_000)
  await page.screenshot({ path: path.join(FOLDER, `${name}.png`) })
  say(`docs/pictures/${name}.png`)
}

say('Starting a stack …')
await mkdir(FOLDER, { recursive: true })
const stack = await startThrowAwayStack({ consolePort: await freePort() })
try {
  say(`Sending ${PER_SECOND} requests a second for ${LOAD_MS / 1_000} s …`)
  await takePictures(stack)
} finally {
  await stack.remove()
}
