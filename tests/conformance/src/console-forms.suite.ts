import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Page } from '@nextvisit/testing/browser'
import { expect, it } from 'vitest'
import {
  consoleStack,
  EMPTY_PROJECT,
  faultsOf,
  find,
  openPath,
  signIn,
  theConsole,
  tryAsUser,
} from './console-pages.ts'

const FORM = 'nps-after-checkout'
const FORM_PATH = `forms/demo/shop/${FORM}`

/** Answers pass two consumers. */
const SOON = { timeout: 30_000 }
const REASON = '<img src=x onerror=alert(1)> too slow'

/** Returns the count of a step in the funnel; undefined while it loads. */
async function countOf(page: Page, step: string): Promise<number | undefined> {
  const counts = await page.getByRole('listitem').filter({ hasText: step }).locator('.count').allTextContents()
  return counts[0] === undefined ? undefined : Number(counts[0])
}

/** Describes results, answers and previews of forms, and their waiting users. */
export function describeConsoleForms(): void {
  it('leads from an event that queued nothing to the reason', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, 'forms-free', 'free')
    await page.getByRole('button', { name: 'Track' }).click()
    await page.getByText('No form was queued.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    // Answers about one user must not remain under another name.
    await page.getByLabel('userName').fill('forms-nobody')
    await page.getByText('No form was queued.').waitFor({ state: 'detached' })
    expect(await page.getByRole('link', { name: 'Timeline of' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Track' }).click()
    await page.getByText('This user has not been identified yet.').waitFor()
    await page.getByLabel('userName').fill('forms-free')
    await page.getByRole('button', { name: 'Visit' }).click()
    await page.getByText('This visit gets no form.').waitFor()
    await page.getByRole('button', { name: 'Track' }).click()
    await page.getByRole('link', { name: 'See why, form by form' }).click()
    await page.getByText('Not queued: the user was not in the audience.').waitFor()
    // Instants in our own texts have the format of the page.
    const live = page
      .getByRole('list', { name: `Gates of ${FORM}` })
      .getByRole('listitem')
      .first()
    expect(await live.textContent()).toMatch(/enabled, at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  })

  it('shows the funnel of each form, the gates that stopped it, and its waiting users', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, 'forms-waits')
    await page.getByRole('button', { name: 'Track' }).click()
    await page.getByText('"formsQueued": 1').waitFor()
    await page.getByRole('link', { name: 'Forms', exact: true }).click()
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: FORM }) })
    await row.getByText('not-in-audience').waitFor()
    // The queued form belongs to a test key.
    await page.getByRole('button', { name: 'Test' }).click()
    expect(await faultsOf(page)).toEqual([])
    await row.getByRole('link', { name: FORM }).click()

    await expect.poll(() => countOf(page, 'Queued'), SOON).toBeGreaterThanOrEqual(1)
    await page.getByRole('tab', { name: 'Gates and queue' }).click()
    await page.getByRole('row').filter({ hasText: 'the user was not in the audience' }).waitFor()
    await page.getByText('event checkout_completed', { exact: true }).waitFor()
    await page.getByText('whenever a trigger matches').waitFor()
    await page.getByText('Gates are counted since').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('link', { name: 'forms-waits' }).click()
    await page.getByRole('heading', { name: 'forms-waits' }).waitFor()
    await page.getByText("Waiting for the user's next visit since").waitFor()
    await page.getByText('Queued: every gate passed.').waitFor()
    expect(page.url()).toContain('tab=forms')
  })

  it('answers a form in Try it, and shows the answer in the results, alone, and the form in each language', async () => {
    const page = await signIn(theConsole().token)
    await tryAsUser(page, 'forms-answers')
    await page.getByRole('button', { name: 'Track' }).click()
    await page.getByText('"formsQueued": 1').waitFor()
    await page.getByRole('button', { name: 'Visit' }).click()
    await page.getByRole('radio', { name: '3', exact: true }).check()
    await page.getByLabel('How could we improve?').fill(REASON)
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Thank you.', { exact: true }).waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)

    await page.getByRole('link', { name: `Results of ${FORM}` }).click()
    await expect.poll(() => countOf(page, 'Finished'), SOON).toBe(1)
    const question = page.getByRole('region', { name: 'How likely are you to recommend us?' })
    await question.getByText('−100', { exact: true }).first().waitFor()
    await question.getByRole('row', { name: '3 1 100 %' }).waitFor()
    await question.getByText('As a table').click()
    await question.getByRole('img', { name: /^−100 on \d{4}-/ }).waitFor()
    expect(await faultsOf(page)).toEqual([])
    // Test answers are apart.
    await page.getByRole('button', { name: 'Production' }).click()
    await expect.poll(() => countOf(page, 'Finished'), SOON).toBe(0)
    await page.getByRole('button', { name: 'Test' }).click()
    await page.getByLabel('Language').selectOption('English (en)')
    await expect.poll(() => countOf(page, 'Finished'), SOON).toBe(1)

    await page.getByRole('tab', { name: 'Answers' }).press('Enter')
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'forms-answers' }) })
    await expect.poll(() => row.getByRole('definition').allTextContents(), SOON).toEqual(['3', REASON])
    expect(await faultsOf(page)).toEqual([])

    await page.getByRole('tab', { name: 'Preview' }).click()
    await page.getByLabel('Language').selectOption('German (de)')
    await page.getByRole('radiogroup', { name: /^Wie wahrscheinlich/ }).waitFor()
    await page.getByRole('button', { name: 'Narrow' }).click()
    expect((await page.locator('nextvisit-form').boundingBox())?.width).toBe(320)
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('radio', { name: '9', exact: true }).check()
    await page.getByRole('button', { name: 'Senden' }).click()
    await page.getByText('Vielen Dank.').waitFor()
    await page.getByRole('tab', { name: 'Results' }).click()
    await expect.poll(() => countOf(page, 'Finished'), SOON).toBe(0)
    expect(page.url()).toMatch(/environment=T.*language=de/)
  })

  it('keeps the environment and the search of the forms in the address', async () => {
    const page = await signIn(theConsole().token, 'forms')
    await page.getByRole('button', { name: 'Test' }).click()
    await page.getByLabel('Form', { exact: true }).fill('like you')
    await page.getByText('No form of the project has “like you” in its id or name.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByLabel('Form', { exact: true }).fill('LIKELY ARE you')
    await page.getByRole('link', { name: FORM }).waitFor()
    expect(page.url()).toMatch(/environment=T.*find=LIKELY/)
    await page.reload()
    await page.getByRole('link', { name: FORM }).click()
    await page.getByRole('heading', { name: FORM }).waitFor()
    expect(await page.getByRole('button', { name: 'Test' }).getAttribute('aria-pressed')).toBe('true')
  })

  it('explains how to declare a form, and that a form was removed', async () => {
    const page = await signIn(theConsole().token, `forms?project=${EMPTY_PROJECT}`)
    await page.getByText('The project has no forms.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await openPath(page, 'forms/demo/shop/removed')
    await page.getByText('The form has no questions in the workspace file').waitFor()
    await page.getByRole('tab', { name: 'Gates and queue' }).click()
    await page.getByText('The workspace does not contain this form.').waitFor()
    await page.getByText('The form is not waiting for any user.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await openPath(page, 'forms/demo/nothing/removed')
    await page.getByRole('alert').getByText('The workspace has no such project.').waitFor()
  })

  it('masks waiting users and answers for viewers until they reveal the answers, and logs that', async () => {
    const page = await signIn(theConsole().viewerToken, `${FORM_PATH}?tab=queue`)
    await page.getByRole('row').filter({ hasText: 'waiting' }).getByRole('link', { name: 'f•••' }).first().waitFor()
    expect(await page.content()).not.toContain('forms-waits')
    await openPath(page, `${FORM_PATH}?tab=answers&environment=T`)
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'f•••' }) })
    await expect.poll(() => row.getByRole('definition').allTextContents(), SOON).toEqual(['•••', '•••'])
    expect(await page.content()).not.toMatch(/forms-answers|img src/)
    expect(await faultsOf(page)).toEqual([])

    await page.getByRole('button', { name: 'Show personal data' }).click()
    await page.getByText(REASON).waitFor()
    await page.getByRole('link', { name: 'forms-answers' }).waitFor()
    const log = await readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')
    expect(log).toMatch(
      /"action":"forms\/.*answers\/reveal","role":"viewer","by":"Grace".*"formId":"nps-after-checkout"/,
    )
    expect(log).not.toContain('forms-answers')
  })

  it('explains that a user was never identified, and where to look', async () => {
    const page = await signIn(theConsole().token)
    await find(page, 'never identified')
    const searched = page.getByText('“never identified” was never identified in the project demo/shop')
    await searched.waitFor()
    await page.getByRole('tab', { name: 'Profile' }).click()
    await searched.waitFor()
    // The browser keeps its history after a sign-out.
    expect(await page.evaluate('JSON.stringify(history.state)')).not.toContain('never identified')
    await page.getByText('There is no profile because this user was never identified.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('link', { name: 'Search again' }).click()
    await page.getByLabel('userName or requestId').waitFor()
  })
}
