import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { hashApiKey } from '@nextvisit/domain'
import { expect, it, onTestFinished } from 'vitest'
import { createFindDemo } from './demo.ts'

const keys = {
  admin: 'nv_admin_P_secret',
  sdk: 'nv_sdk_P_public',
  testAdmin: 'nv_admin_T_secret',
  testSdk: 'nv_sdk_T_public',
}
const backend = { name: 'backend', kind: 'admin', environment: 'P', sha256: hashApiKey(keys.admin) } as const
const lookups = staticCatalog([organizationConfig({ id: 'acme', projects: [{ id: 'shop', keys: [backend] }] })])
const catalog = async () => ({ ...lookups, projects: () => [...lookups.projects()] })

/** Searches for the demo twice, and returns the found keys and the log. `text` undefined: no file. */
async function find(text: string | undefined) {
  const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const keysFile = path.join(folder, 'demo-keys.json')
  if (text !== undefined) await writeFile(keysFile, text)
  const logged: string[] = []
  const warn = (...parts: readonly unknown[]) => void logged.push(JSON.stringify(parts))
  const findDemo = createFindDemo({ keysFile, catalog, logger: { warn } })
  return { found: [(await findDemo())?.keys, (await findDemo())?.keys], logged }
}

it('the demo is found by the keys of the file, and not without a file', async () => {
  expect(await find(JSON.stringify(keys))).toEqual({ found: [keys, keys], logged: [] })
  expect(await find(undefined)).toEqual({ found: [undefined, undefined], logged: [] })
})

it.each(['', 'nv_admin_P_secret', '{"admin":"nv_admin_P_secret"}', 'null'])(
  'the demo is not offered with a damaged file, which is logged once without its text: %j',
  async (text) => {
    const { found, logged } = await find(text)
    expect(found).toEqual([undefined, undefined])
    expect(logged).toEqual([expect.stringContaining('run nextvisit demo')])
    expect(logged.join()).not.toContain('nv_admin')
  },
)
