import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import path from 'node:path'
import { runNextvisit } from '@nextvisit/cli/test/run-nextvisit.ts'
import { DEMO_WORKSPACE } from '@nextvisit/local-stack'
import { expect, it } from 'vitest'
import { consoleStack, faultsOf, signIn, theConsole } from './console-pages.ts'

/** Applies the demo's workspace file with another priority of its form. */
async function applyPriority(priority: number): Promise<void> {
  const { dataDirectory } = consoleStack()
  const file = path.join(dataDirectory, 'changed-workspace.yaml')
  const demo = await readFile(DEMO_WORKSPACE, 'utf8')
  await writeFile(file, demo.replace('priority: 10', `priority: ${priority}`))
  expect(await runNextvisit(['apply', file], { NEXTVISIT_DATA: dataDirectory })).toMatchObject({ exitCode: 0 })
}

export function describeConsoleCatalog(): void {
  it('shows revisions with author and changes, and that every process has them; and no key', async () => {
    const page = await signIn(theConsole().viewerToken)
    await page.getByRole('link', { name: 'Operations' }).first().click()
    await page.getByRole('link', { name: 'Catalog revisions' }).click()
    await page
      .getByText(/The first revision: \d+ changes\./)
      .first()
      .waitFor()
    await page.getByText(/^(\d+) of \1 processes have the latest revision/).waitFor()
    await page.getByText('demo/shop: anyone who reads the publishable key (web) can act as any user').waitFor()
    expect(await faultsOf(page)).toEqual([])

    await applyPriority(7)
    const latest = page.getByRole('listitem').filter({ hasText: 'form nps-after-checkout priority 10 → 7' }).first()
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Refresh' }).click()
          return latest.isVisible()
        },
        { timeout: 30_000 },
      )
      .toBe(true)
    await latest.getByText(/^\d+ changes?\.$/).waitFor()
    await latest.getByText(`by ${userInfo().username}`).waitFor()

    await page.getByLabel('Organization').selectOption('demo')
    await page.getByText('form nps-after-checkout priority 10 → 7').first().waitFor()
    expect(page.url()).toContain('organization=demo')
    const html = await page.content()
    for (const key of Object.values(consoleStack().keys)) {
      expect(html).not.toContain(key)
      expect(html).not.toContain(createHash('sha256').update(key).digest('hex'))
    }
    expect(await faultsOf(page)).toEqual([])
  })
  it('lists changes of operators with their author, new ones without a reload, and filters them', async () => {
    const page = await signIn(theConsole().viewerToken)
    await page.getByRole('link', { name: 'Operations' }).first().click()
    await page.getByRole('link', { name: 'Changes' }).click()
    await page.getByRole('cell', { name: 'Workspace file applied' }).first().waitFor()
    expect(await faultsOf(page)).toEqual([])

    await applyPriority(8)
    const row = page.getByRole('row').filter({ hasText: /form nps-after-checkout priority \d+ → 8/ })
    await row.waitFor()
    await row.getByText('made').waitFor()
    await row.getByText(/command by .*, name not verified/).waitFor()
    await row.getByText('Difference').click()
    await row.getByText(/form nps-after-checkout priority \d+ → 8/).waitFor()
    expect(await faultsOf(page)).toEqual([])

    await page.getByLabel('By').fill(userInfo().username.toUpperCase())
    await page.getByRole('button', { name: 'Find' }).click()
    await row.waitFor()
    await page.getByRole('combobox', { name: 'Change' }).selectOption('History imported')
    await page.getByText('There is no such change.').waitFor()
    expect(page.url()).toContain('kind=history.import')
    await page.reload()
    await page.getByText('There is no such change.').waitFor()
    expect(await faultsOf(page)).toEqual([])
  })
}
