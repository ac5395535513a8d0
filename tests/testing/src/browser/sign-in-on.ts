import type { Page } from 'playwright-core'

/** Signs in on a console page and waits for the Overview. */
export async function signInOn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.getByLabel('Your name').fill('Grace')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}
