import type { Page } from 'playwright-core'

/** Fills in the form of a console's page that nobody has signed in to, and sees the Overview. */
export async function signInOn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.getByLabel('Your name').fill('Grace')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}
