import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Page } from '@nextvisit/testing/browser'
import { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { consoleStack, cookieOf, faultsOf, find, OWN, send, signIn, theConsole, tryAsUser } from './console-pages.ts'

const CONSUMER = 'user-projector'
const SWAP = `Swap the read models of ${CONSUMER}`
const EQUAL = 'Rebuilt and live rows are equal.'
/** For a rebuild from the whole log, on a busy machine. */
const WITHIN = { timeout: 90_000 }
/** Lock of a replay: "NVRP" and a hash of the schema's name. */
const LOCK = "pg_advisory_lock(1314280016, hashtext('users'))"

/** Runs statements on the live tables of the user projector, with its role. */
async function inDatabase<Answer>(work: (client: Client) => Promise<Answer>): Promise<Answer> {
  const client = new Client({ connectionString: consoleStack().databaseUrls.get('USER_PROJECTOR_DATABASE_URL') })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function openReplay(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Operations' }).click()
  await page.getByRole('link', { name: 'Replay' }).click()
  await page.getByLabel('Consumer').selectOption(CONSUMER)
}

async function compare(page: Page): Promise<void> {
  await openReplay(page)
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByRole('heading', { name: `Comparison of ${CONSUMER}` }).waitFor()
}

/** Counts events in the live tables. */
const countEvents = () =>
  inDatabase(async (client) => {
    const { rows } = await client.query<{ count: number }>('SELECT sum(count)::int AS count FROM users.user_events')
    return rows[0]?.count
  })

export function describeConsoleReplay(): void {
  describe('a replay from the console', { timeout: 240_000 }, () => {
    it('compares, swaps, and logs the author', async () => {
      const page = await signIn(theConsole().token)
      await tryAsUser(page, 'rita@example.com')
      await page.getByRole('button', { name: 'Track' }).click()
      await page.getByText('"formsQueued": 1').waitFor()
      await compare(page)
      await page.getByText(EQUAL).waitFor(WITHIN)
      expect(page.url()).toContain(`operations/replay?consumer=${CONSUMER}`)
      await page.getByRole('row', { name: /^users / }).waitFor()
      await page.getByText('Not compared: users.').waitFor()
      expect(await faultsOf(page)).toEqual([])

      await page.getByRole('button', { name: `Swap ${CONSUMER}` }).click()
      await page.getByRole('heading', { name: `${SWAP}?` }).waitFor()
      expect(await faultsOf(page)).toEqual([])
      await page.getByRole('button', { name: SWAP }).click()
      const run = page.getByRole('region', { name: `Swap of ${CONSUMER}` })
      await expect.poll(() => run.evaluate((section) => section === section.ownerDocument.activeElement)).toBe(true)
      await page.getByText(`${EQUAL} Swapped; folds waited`).waitFor(WITHIN)
      expect(await page.getByRole('img', { name: 'done' }).count()).toBe(5)
      expect(await faultsOf(page)).toEqual([])

      // Reads use the swapped tables.
      await find(page, 'rita@example.com')
      await page.getByRole('heading', { name: 'rita@example.com' }).waitFor()
      const log = await readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')
      expect(log).toMatch(
        /"action":"replay\/start","role":"operator","by":"Grace".*"service":"user-projector","goal":"swap"/,
      )
      expect(log).toMatch(/"action":"replay ended","role":"operator","by":"Grace".*"outcome":"swapped"/)
    })

    it('swaps nothing if rows differ, until an operator confirms the rebuilt ones', async () => {
      const page = await signIn(theConsole().token)
      await compare(page)
      await page.getByText(EQUAL).waitFor(WITHIN)
      const before = await countEvents()
      await inDatabase((client) =>
        client.query(
          `UPDATE users.user_events SET count = count + 5
           WHERE ctid = (SELECT min(ctid) FROM users.user_events WHERE organization = 'demo')`,
        ),
      )
      await page.getByRole('button', { name: `Swap ${CONSUMER}` }).click()
      await page.getByRole('button', { name: SWAP }).click()
      await page.getByText('1 table differs. Nothing was swapped.').waitFor(WITHIN)
      await page
        .getByRole('row', { name: /^user_events/ })
        .first()
        .waitFor()
      const rows = await page.getByRole('row').allInnerTexts()
      expect(rows.map((text) => text.replaceAll(/\s+/g, ' '))).toContainEqual(
        expect.stringMatching(/^user_events organization=demo.* differs in count$/),
      )
      expect(await faultsOf(page)).toEqual([])
      expect(await countEvents()).toBe((before ?? 0) + 5)

      await page.getByRole('button', { name: `Swap ${CONSUMER}` }).click()
      await page.getByRole('button', { name: SWAP }).click()
      // The browser requires the confirmation; nothing was sent.
      expect(await page.getByRole('heading', { name: `${SWAP}?` }).count()).toBe(1)
      await page.getByLabel('Swap although rows of 1 table differ').check()
      expect(await faultsOf(page)).toEqual([])
      await page.getByRole('button', { name: SWAP }).click()
      await page.getByText('1 table differs. Swapped; folds waited').waitFor(WITHIN)
      expect(await countEvents()).toBe(before)
    })

    it('survives the end of the console: the next process resumes it, and says so', async () => {
      await inDatabase(async (client) => {
        // The comparison waits for this lock. Folds do not.
        await client.query('BEGIN; LOCK TABLE users.checkpoints IN ROW EXCLUSIVE MODE')
        const page = await signIn(theConsole().token)
        await compare(page)
        await page.getByRole('listitem').filter({ hasText: 'Compare' }).and(page.locator('[aria-current]')).waitFor()
        consoleStack().kill('console', 'SIGKILL')
        await expect
          .poll(
            () =>
              fetch(theConsole().url).then(
                ({ ok }) => ok,
                () => false,
              ),
            WITHIN,
          )
          .toBe(true)
      })
      const page = await signIn(theConsole().token)
      await openReplay(page)
      await page.getByText('interrupted by a restart of the console, resumed at').waitFor(WITHIN)
      expect(await faultsOf(page)).toEqual([])
      await page.getByText(EQUAL).waitFor(WITHIN)
      await page.getByText('Started by Grace').waitFor()
    })

    it('reports another replay that was started on a terminal', async () => {
      const page = await signIn(theConsole().token)
      await inDatabase(async (client) => {
        await client.query(`SELECT ${LOCK}`)
        await compare(page)
        await page.getByRole('alert').getByText('Another replay of the schema users is running.').waitFor(WITHIN)
      })
      expect(await faultsOf(page)).toEqual([])
    })

    it('shows viewers the result, and no way to start one', async () => {
      const page = await signIn(theConsole().viewerToken)
      await openReplay(page)
      await page.getByText('Only operators can start a replay.').waitFor()
      await page.getByRole('heading', { name: `Comparison of ${CONSUMER}` }).waitFor()
      expect(await page.getByRole('button', { name: /Compare|Swap|Stop/ }).count()).toBe(0)
      expect(await faultsOf(page)).toEqual([])
      const headers = { ...OWN, origin: theConsole().url, cookie: await cookieOf(page) }
      for (const [route, body] of [
        ['replay/start', { service: CONSUMER, goal: 'compare' }],
        ['replay/stop', {}],
      ] as const)
        expect(await send(route, { method: 'POST', headers, body: JSON.stringify(body) })).toEqual({
          status: 403,
          error: 'not-allowed',
        })
    })

    it('rejects unknown consumers, goals and arguments', async () => {
      const headers = { ...OWN, origin: theConsole().url, cookie: await cookieOf(await signIn(theConsole().token)) }
      const start = (body: object) => send('replay/start', { method: 'POST', headers, body: JSON.stringify(body) })
      expect(await start({ service: '--help', goal: 'compare' })).toEqual({ status: 404, error: 'no-service' })
      expect(await start({ service: CONSUMER, goal: 'drop' })).toEqual({ status: 400, error: 'bad-input' })
      expect(await start({ service: CONSUMER, goal: 'compare', args: ['-x'] })).toMatchObject({ status: 400 })
    })
  })
}
