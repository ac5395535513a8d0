import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Page } from '@nextvisit/testing/browser'
import { expect, it } from 'vitest'
import {
  consoleStack,
  cookieOf,
  faultsOf,
  find,
  openPath,
  OWN,
  send,
  signIn,
  theConsole,
  tryAsUser,
} from './console-pages.ts'

const NAME = 'erased@example.com'
const COMPLETE_WITHIN_MS = 90_000

/** Returns the page before this one in the browser's history, shown while no route about users answers. */
async function goBackWithoutAnswers(page: Page): Promise<string> {
  await page.route('**/api/users/**', (route) => route.abort())
  await page.goBack()
  await page.getByRole('tab', { name: 'Timeline' }).waitFor()
  const content = await page.content()
  await page.unroute('**/api/users/**')
  return content
}

/** Opens the dialog of a button, types a userName, and confirms. */
async function confirm(page: Page, [button, field, action]: readonly [string, string, string], userName: string) {
  const dialog = page.getByRole('dialog')
  if (!(await dialog.isVisible())) await page.getByRole('button', { name: button }).click()
  await dialog.getByLabel(field).fill(userName)
  await dialog.getByRole('button', { name: action }).click()
  return dialog
}

const ERASE = ['Erase …', 'Type the userName to confirm', 'Erase this person'] as const
const LIFT = ['Lift a suppression …', 'userName', 'Lift the suppression'] as const

/** Tests erasures and suppressions in the console. */
export function describeConsoleErasure(): void {
  it('erases a person whose userName the operator types, shows each store, and offers the receipt', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, NAME)
    await find(page, NAME)
    await page.getByRole('heading', { name: NAME }).waitFor()
    const dialog = await confirm(page, ERASE, 'Erased@example.com')
    await dialog.getByRole('alert').getByText('This is not the userName of this person.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await dialog.getByLabel('Suppress').check()
    await confirm(page, ERASE, NAME)

    await page.getByRole('heading', { name: 'Erasure', exact: true }).waitFor()
    const erasureId = new URL(page.url()).pathname.split('/').at(-1)
    for (const store of ['user-events', 'user-projector', 'user-keys'])
      await page.getByRole('rowheader', { name: store, exact: true }).waitFor()
    expect(await faultsOf(page)).toEqual([])
    const receipt = page.getByRole('button', { name: 'Download the receipt' })
    await receipt.waitFor({ timeout: COMPLETE_WITHIN_MS })
    await page.getByRole('heading', { name: 'Not covered by this erasure' }).waitFor()
    expect(await faultsOf(page)).toEqual([])
    const downloading = page.waitForEvent('download')
    await receipt.click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe(`erasure-${erasureId}.json`)
    expect(JSON.parse(await readFile(await download.path(), 'utf8'))).toMatchObject({
      erasureId,
      suppress: true,
      signature: expect.any(String),
    })

    expect((await goBackWithoutAnswers(page)).includes(NAME)).toBe(false)
    await page.reload()
    await page.getByRole('heading', { name: 'Erased' }).waitFor()
    expect(await faultsOf(page)).toEqual([])
    const log = await readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')
    expect(log).toMatch(new RegExp(`"action":"erasure requested","role":"operator".*"erasureId":"${erasureId}"`))
    expect(log).not.toContain(NAME)

    await openPath(page, 'operations/changes?kind=users.erase')
    const row = page.getByRole('row').filter({ hasText: `erasure id: ${erasureId}` })
    await row.getByText('console with a token, name not verified').waitFor()
    await row.getByText('made').waitFor()
    expect(await page.content()).not.toContain(NAME)
  })

  it('lists erasures and suppressions, and lifts a suppression by the userName', async () => {
    const page = await signIn(theConsole().token)
    await page.getByRole('link', { name: 'Users', exact: true }).click()
    await page.getByRole('link', { name: 'Erasures and suppressions' }).click()
    await page
      .getByRole('region', { name: /^Erasures of / })
      .getByText('complete', { exact: true })
      .waitFor()
    const suppressions = page.getByRole('region', { name: /^Suppressions of / })
    await suppressions.waitFor()
    expect(await faultsOf(page)).toEqual([])

    const dialog = await confirm(page, LIFT, 'nobody')
    await dialog.getByRole('alert').getByText('No user of this name is suppressed').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await confirm(page, LIFT, NAME)
    await page.getByText('The suppression is lifted.').waitFor()
    await page.getByText('No user of this project is suppressed.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('button', { name: LIFT[0] }).click()
    await page.getByText('The suppression is lifted.').waitFor({ state: 'detached' })
  })

  it('shows erasures to viewers, who cannot erase or lift', async () => {
    const viewer = await signIn(theConsole().viewerToken, 'erasures')
    await viewer
      .getByRole('region', { name: /^Erasures of / })
      .getByRole('link')
      .first()
      .click()
    await viewer.getByRole('button', { name: 'Download the receipt' }).waitFor()
    expect(await faultsOf(viewer)).toEqual([])
    const [organization, project] = new URL(viewer.url()).pathname.split('/').slice(-3)
    await viewer.goBack()
    await viewer.getByText('No user of this project is suppressed.').waitFor()
    expect(await viewer.getByRole('button', { name: LIFT[0] }).count()).toBe(0)
    await find(viewer, 'ada@example.com')
    expect(await viewer.getByRole('button', { name: ERASE[0] }).count()).toBe(0)

    const headers = { ...OWN, origin: theConsole().url, cookie: await cookieOf(viewer) }
    const refused = { status: 403, error: 'not-allowed' }
    const userId = new URL(viewer.url()).pathname.split('/').at(-1)
    const erase = { method: 'POST', headers, body: JSON.stringify({ userName: 'ada@example.com', suppress: false }) }
    expect(await send(`users/${organization}/${project}/${userId}/erase`, erase)).toEqual(refused)
    const lift = { method: 'POST', headers, body: JSON.stringify({ userName: 'ada@example.com' }) }
    expect(await send(`suppressions/${organization}/${project}/lift`, lift)).toEqual(refused)
  })
}
