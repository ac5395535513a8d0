import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { consoleStack, cookieOf, faultsOf, find, OWN, send, signIn, theConsole, tryAsUser } from './console-pages.ts'

const readLog = () => readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')

/** Tests the export of a person from the console. */
export function describeConsoleUserExport(): void {
  it('exports a person for operators after a confirmation, and logs that without personal data', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, 'exported@example.com')
    await page.getByRole('button', { name: 'Track' }).click()
    await page.getByText('"formsQueued": 1').waitFor()
    await find(page, 'exported@example.com')
    const userId = new URL(page.url()).pathname.split('/').at(-1)
    await page.getByRole('button', { name: 'Export …' }).click()
    await page.getByRole('heading', { name: 'Export all data of this person?' }).waitFor()
    expect(await faultsOf(page)).toEqual([])
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export all data of this person' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe(`${userId}.ndjson`)
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ type: 'export', userName: 'exported@example.com', userId })
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ type: 'summary', isComplete: true })
    await page.getByText('The file is complete.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await expect
      .poll(readLog)
      .toMatch(new RegExp(`"action":"user export ended","role":"operator","by":"Grace".*"userId":"${userId}"`))
    expect(await readLog()).not.toContain('exported@')
  })

  it('refuses an export of nobody, and exports of viewers', async () => {
    const page = await signIn(theConsole().token)
    await find(page, 'not-to-be-exported')
    await page.getByRole('button', { name: 'Export …' }).click()
    await page.getByRole('button', { name: 'Export all data of this person' }).click()
    await page.getByRole('alert').getByText('Nothing is known about').waitFor()

    const viewer = await signIn(theConsole().viewerToken)
    await find(viewer, 'exported@example.com')
    expect(await viewer.getByRole('button', { name: 'Export …' }).count()).toBe(0)
    const headers = { ...OWN, origin: theConsole().url, cookie: await cookieOf(viewer) }
    const route = `users/${new URL(viewer.url()).pathname.split('/').slice(-3).join('/')}/export`
    expect(await send(route, { method: 'POST', headers, body: '{}' })).toEqual({ status: 403, error: 'not-allowed' })
  })
}
