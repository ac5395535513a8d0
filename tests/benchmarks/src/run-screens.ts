/**
 * `pnpm benchmark:screens`: measures whether the console's screens stutter in a real browser, with 10,000 waiting forms
 * and a user with 1,000 events. A task is a time in which a page is blocked; users notice about 100 ms.
 */
import path from 'node:path'
import { userIdOf } from '@nextvisit/domain'
import { freePort } from '@nextvisit/local-stack'
import { callCarefully, startThrowAwayStack, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { signInOn, startBrowser } from '@nextvisit/testing/browser'
import { createCostLoad } from './cost/cost-loads.ts'
import { identifyUsers } from './cost/measure-cost.ts'
import { openStackProbe } from './cost/stack-probe.ts'
import { runLoad } from './load/run-load.ts'
import { noteLongTasks, watchScreen } from './load/watch-screen.ts'

const WORKSPACE = path.resolve(import.meta.dirname, '../benchmark-workspace.yaml')
const WAITING_FORMS = 10_000
const EVENTS = 1_000
const EVENTS_PER_BATCH = 100
const USER = 'user-0'
const USER_PATH = `users/bench/shop/${userIdOf('bench', 'shop', USER)}`

/** Screens by path, with a text that the screen shows once its data is loaded. */
const SCREENS: readonly (readonly [path: string, sign: string])[] = [
  ['', 'Time to an answer'],
  [USER_PATH, 'Event Page Viewed'],
  [`${USER_PATH}?tab=forms`, 'survey-0'],
  ['live', 'Page Viewed'],
  ['forms', 'Forms of bench/shop'],
  ['forms/bench/shop/survey-0', 'Waiting now:'],
  ['segments', 'The project has no segments.'],
  ['registry', 'Trait names'],
  ['operations', 'Partitions of user-events'],
]

const say = (line: string): void => console.error(line)

async function fill(stack: ThrowAwayStack): Promise<void> {
  const probe = await openStackProbe(stack)
  await identifyUsers(stack, probe)
  const { next } = createCostLoad('forms', stack)
  for (let queued = 0; queued < WAITING_FORMS; ) {
    queued += (await runLoad({ url: stack.gatewayUrl, next, seconds: 1, connections: 32 })).answered
    say(`  ${queued} forms are queued`)
  }
  const items = Array.from({ length: EVENTS_PER_BATCH }, () => ({
    type: 'track',
    userName: USER,
    eventName: 'Page Viewed',
    note: 'x'.repeat(200),
  }))
  const batch = { gatewayUrl: stack.gatewayUrl, route: '/v2/admin/batch', apiKey: stack.keys.admin, body: { items } }
  for (let sent = 0; sent < EVENTS; sent += EVENTS_PER_BATCH) await callCarefully(batch)
  await probe.waitUntilCaughtUp()
  await probe.close()
}

async function watchScreens({ console: own }: ThrowAwayStack): Promise<void> {
  if (!own) throw new Error('The stack has no console')
  const browser = await startBrowser()
  try {
    const page = await browser.newPage({ locale: 'en-US' })
    await noteLongTasks(page)
    await page.goto(own.url)
    await signInOn(page, own.token)
    console.log('\n| screen | longest task ms | all tasks over 50 ms, ms | elements |\n|---|--:|--:|--:|')
    for (const [screen, sign] of SCREENS) {
      const { longestTaskMs, longTasksMs, elements } = await watchScreen(page, `${own.url}/${screen}`, sign)
      console.log(`| /${screen} | ${longestTaskMs.toFixed(0)} | ${longTasksMs.toFixed(0)} | ${elements} |`)
    }
  } finally {
    await browser.close()
  }
}

say('Starting a stack …')
const stack = await startThrowAwayStack({ workspaceFile: WORKSPACE, consolePort: await freePort() })
try {
  say(`Queueing ${WAITING_FORMS} forms …`)
  await fill(stack)
  await watchScreens(stack)
} finally {
  await stack.remove()
}
process.exit()
