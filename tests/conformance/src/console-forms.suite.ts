import { expect, it } from 'vitest'
import { EMPTY_PROJECT, faultsOf, find, openPath, signIn, theConsole, tryAsUser } from './console-pages.ts'

const FORM = 'nps-after-checkout'
const FORM_PATH = `forms/demo/shop/${FORM}`

/** Describes the figures of forms over all users, and their waiting users. */
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
    expect(await faultsOf(page)).toEqual([])
    await row.getByRole('link', { name: FORM }).click()

    const funnel = page.getByRole('listitem').filter({ hasText: 'a trigger of the form matched' })
    await funnel.waitFor()
    expect(Number(await funnel.locator('.count').textContent())).toBeGreaterThanOrEqual(2)
    await page.getByRole('row').filter({ hasText: 'the user was not in the audience' }).waitFor()
    await page.getByText('event checkout_completed', { exact: true }).waitFor()
    await page.getByText('whenever a trigger matches').waitFor()
    await page.getByText('Counted since').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByRole('link', { name: 'forms-waits' }).click()
    await page.getByRole('heading', { name: 'forms-waits' }).waitFor()
    await page.getByText("Waiting for the user's next visit since").waitFor()
    await page.getByText('Queued: every gate passed.').waitFor()
    expect(page.url()).toContain('tab=forms')
  })

  it('keeps the period and the search of the forms in the address', async () => {
    const page = await signIn(theConsole().token, 'forms')
    await page.getByRole('button', { name: 'Last hour' }).click()
    await page.getByLabel('Form', { exact: true }).fill('like you')
    await page.getByText('No form of the project has “like you” in its id or name.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await page.getByLabel('Form', { exact: true }).fill('LIKELY ARE you')
    await page.getByRole('link', { name: FORM }).waitFor()
    expect(page.url()).toMatch(/hours=1.*find=LIKELY/)
    await page.reload()
    await page.getByRole('link', { name: FORM }).click()
    await page.getByRole('heading', { name: FORM }).waitFor()
    expect(await page.getByRole('button', { name: 'Last hour' }).getAttribute('aria-pressed')).toBe('true')
  })

  it('explains how to declare a form, and that a form was removed', async () => {
    const page = await signIn(theConsole().token, `forms?project=${EMPTY_PROJECT}`)
    await page.getByText('The project has no forms.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await openPath(page, 'forms/demo/shop/removed')
    await page.getByText('The workspace does not contain this form.').waitFor()
    await page.getByText('The form is not waiting for any user.').waitFor()
    expect(await faultsOf(page)).toEqual([])
    await openPath(page, 'forms/demo/nothing/removed')
    await page.getByRole('alert').getByText('The workspace has no such project.').waitFor()
  })

  it('masks the names of waiting users for viewers', async () => {
    const page = await signIn(theConsole().viewerToken, FORM_PATH)
    await page.getByRole('row').filter({ hasText: 'waiting' }).getByRole('link', { name: 'f•••' }).first().waitFor()
    expect(await page.content()).not.toContain('forms-waits')
    expect(await faultsOf(page)).toEqual([])
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
