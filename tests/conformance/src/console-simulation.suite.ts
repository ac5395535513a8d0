import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Page } from '@nextvisit/testing/browser'
import { describe, expect, it } from 'vitest'
import { consoleStack, cookieOf, faultsOf, OWN, send, signIn, theConsole, tryAsUser } from './console-pages.ts'

const DEMO = path.resolve(import.meta.dirname, '../../../infra/demo-workspace.yaml')
const FORM = 'nps-after-checkout'
const WITHIN = { timeout: 60_000 }

async function openSimulation(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Forms', exact: true }).first().click()
  await page.getByRole('link', { name: 'Simulate an edited workspace file' }).click()
}

async function simulate(page: Page, workspace: string): Promise<void> {
  await openSimulation(page)
  await page.getByLabel('Edited workspace file').fill(workspace)
  await page.getByLabel('Days').fill('1')
  await page.getByRole('button', { name: 'Simulate' }).click()
}

/** Returns the cells of a row of the result. */
async function cellsOf(page: Page, row: string): Promise<readonly string[]> {
  return page.getByRole('row', { name: row }).first().getByRole('cell').allTextContents()
}

export function describeConsoleSimulation(): void {
  describe('a simulation from the console', { timeout: 180_000 }, () => {
    it('shows the result of an edited file beside the applied forms', async () => {
      const page = await signIn(theConsole().token)
      await tryAsUser(page, 'sam@example.com', 'free')
      await page.getByRole('button', { name: 'Track' }).click()
      await page.getByText('"formsQueued": 0').waitFor()
      // All users can get the form, and a second one is never queued.
      const edited = (await readFile(DEMO, 'utf8'))
        .replace('audience: { trait: plan, is: pro }', 'audience: { trait: plan, in: [pro, free] }')
        .concat('          - { id: never-asked, triggers: [{ event: nothing_of_the_kind }] }\n')
      await simulate(page, edited)
      await page.getByRole('heading', { name: 'demo/shop' }).waitFor(WITHIN)
      expect(page.url()).toContain('forms/simulation?days=1')
      expect(await faultsOf(page)).toEqual([])

      const [, triggered, queued] = await cellsOf(page, `${FORM} the edited file`)
      const [, triggeredToday, queuedToday, , , stopped] = await cellsOf(page, 'today')
      expect(triggered).toBe(triggeredToday)
      expect(Number(queued)).toBeGreaterThan(Number(queuedToday))
      expect(stopped).toMatch(/not-in-audience \d+ the user was not in the audience/)
      expect(await cellsOf(page, 'never-asked')).toEqual(['the edited file', '0', '0', '0', '0', 'nothing'])
      await page.getByText('not applied').waitFor()
      expect(await page.content()).not.toContain('sam@example.com')
      const log = await readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')
      expect(log).toMatch(/"action":"simulation\/start","role":"operator","by":"Grace".*"days":"1"/)
      expect(log).toMatch(/"action":"simulation ended".*"outcome":"simulated"/)
      expect(log).not.toContain('never-asked')
    })

    it('lists each fault of the file, and leads to its line', async () => {
      const page = await signIn(theConsole().token)
      const lines = (await readFile(DEMO, 'utf8')).split('\n')
      const line = 1 + lines.findIndex((text) => text.includes('expiresAfter: 30d'))
      await simulate(page, lines.join('\n').replace('expiresAfter: 30d', 'expiresAfterwards: 30d'))
      const fault = page.getByRole('list', { name: 'Faults of the file' }).getByRole('listitem')
      await fault.getByText('is not a known member').waitFor(WITHIN)
      await fault.getByText('organizations[0].projects[0].forms[0].expiresAfterwards').waitFor()
      expect(await faultsOf(page)).toEqual([])
      await fault.getByRole('button', { name: `Line ${line}` }).click()
      const selected = await page.evaluate<string>('getSelection().toString()')
      expect(selected.trim()).toBe('expiresAfterwards: 30d')
    })

    it('shows viewers the last one, and no way to start one', async () => {
      const page = await signIn(theConsole().viewerToken)
      await openSimulation(page)
      await page.getByText('Only operators can start a simulation.').waitFor()
      await page.getByRole('heading', { name: 'Simulation of the last day' }).waitFor()
      expect(await page.getByRole('button', { name: /Simulate|Stop/ }).count()).toBe(0)
      expect(await faultsOf(page)).toEqual([])
      const headers = { ...OWN, origin: theConsole().url, cookie: await cookieOf(page) }
      const body = JSON.stringify({ workspace: 'organizations: []', days: 1 })
      expect(await send('simulation/start', { method: 'POST', headers, body })).toEqual({
        status: 403,
        error: 'not-allowed',
      })
    })

    it('accepts a large file there, and on no other route', async () => {
      const headers = { ...OWN, origin: theConsole().url, cookie: await cookieOf(await signIn(theConsole().token)) }
      const post = (route: string, body: object) => send(route, { method: 'POST', headers, body: JSON.stringify(body) })
      const large = '#'.repeat(300_000)
      expect(await post('simulation/start', { workspace: large, days: 1 })).toEqual({ status: 400, error: 'bad-input' })
      expect(await post('simulation/start', { workspace: large.repeat(5), days: 1 })).toMatchObject({ status: 413 })
      expect(await post('try/visit', { userName: large })).toMatchObject({ status: 413, error: 'bad-body' })
    })
  })
}
