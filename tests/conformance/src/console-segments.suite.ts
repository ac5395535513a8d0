import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import {
  consoleStack,
  cookieOf,
  EMPTY_PROJECT,
  faultsOf,
  openPath,
  OWN,
  send,
  signIn,
  theConsole,
  tryAsUser,
} from './console-pages.ts'

const MEMBER = 'segments-member'
const PATH = 'segments/demo/shop/paying'

const readLog = () => readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')

/** Describes segments, their progress and their members. */
export function describeConsoleSegments(): void {
  it('shows the members of a segment since when, and leads to the user', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, MEMBER)
    await page.getByRole('link', { name: 'Segments', exact: true }).click()
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'paying' }) })
    await row.getByText('all users').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await row.getByRole('link', { name: 'paying' }).click()
    await page.getByText('any (trait plan is "pro", trait plan is "business")').waitFor()
    const member = page.getByRole('row').filter({ hasText: MEMBER })
    await member.locator('time').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await member.getByRole('link').click()
    await page.getByRole('heading', { name: MEMBER }).waitFor()
  })

  it('explains how to declare a segment', async () => {
    const page = await signIn(theConsole().token, `segments?project=${EMPTY_PROJECT}`)
    await page.getByText('The project has no segments.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await openPath(page, 'segments/demo/shop/nothing')
    await page.getByRole('alert').getByText('The project has no such segment.').waitFor()
    expect(await faultsOf(page)).toEqual([])
  })

  it('masks names of members for viewers until they ask, and logs that', async () => {
    const page = await signIn(theConsole().viewerToken, PATH)
    await page.getByRole('link', { name: 's•••' }).first().waitFor()
    expect(await page.content()).not.toContain(MEMBER)
    expect(await faultsOf(page)).toEqual([])
    const headers = { ...OWN, cookie: await cookieOf(page) }
    expect(await send(`${PATH}/reveal`, { method: 'POST', body: '{}', headers })).toMatchObject({ status: 403 })

    await page.getByRole('button', { name: 'Show personal data' }).click()
    await page.getByRole('link', { name: MEMBER }).click()
    // The viewer revealed this list, not the user.
    await page.getByRole('heading', { name: 's•••' }).waitFor()
    expect(await readLog()).toMatch(/"action":"segments\/.*reveal","role":"viewer","by":"Grace".*"segmentId":"paying"/)
    expect(await readLog()).not.toContain(MEMBER)
  })
}
