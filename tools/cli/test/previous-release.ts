import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { FetchedRecord } from '@nextvisit/log'

/** Commit of main that represents the previous release, because there was none yet. Update it with each release. */
const COMMIT = '76a7e8e'
const ROOT = path.resolve(import.meta.dirname, '../../..')
const PACKAGES = ['contracts', 'domain', 'catalog']

/** Returns whether this checkout has the commit. A shallow clone lacks it. */
export function hasPreviousRelease(): boolean {
  return spawnSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: ROOT }).status === 0
}

interface PreviousReading {
  readonly revisions: Readonly<Record<string, number>>
  /** SHA-256 hashes of the valid keys. */
  readonly keys: readonly string[]
  /** Projects by organization, as that release understands them. */
  readonly projects: Readonly<Record<string, readonly unknown[]>>
  /** Parts that it does not understand in the records that count. */
  readonly problems: readonly unknown[]
  /** Outcome of each record. */
  readonly outcomes: readonly string[]
}

/** Reads records of the catalog with the code of the previous release, from its commit, in a process of its own. */
export function readWithPreviousRelease(records: readonly FetchedRecord[]): PreviousReading {
  const folder = extract()
  const script = path.join(folder, 'packages/catalog/read-previous.ts')
  writeFileSync(script, READER)
  const input = JSON.stringify(
    records.map(({ key, value, headers }) => ({
      key: key?.toString('utf8') ?? null,
      value: value?.toString('utf8') ?? null,
      headers,
    })),
  )
  return JSON.parse(execFileSync(process.execPath, [script], { input, encoding: 'utf8' })) as PreviousReading
}

const READER = `
import { readFileSync } from 'node:fs'
import { emptyCatalog, foldCatalog, lookupsOf } from './src/fold-catalog.ts'
import { readCatalogRecord } from './src/read-catalog-record.ts'

const state = emptyCatalog()
const bufferOf = (text) => (text === null ? null : Buffer.from(text))
const outcomes = JSON.parse(readFileSync(0, 'utf8')).map(({ key, value, headers }) => {
  const record = readCatalogRecord({ key: bufferOf(key), value: bufferOf(value), headers })
  foldCatalog(state, record)
  return record.outcome
})
const byId = (valueOf) => Object.fromEntries(Array.from(state.organizations, ([id, held]) => [id, valueOf(held)]))
console.log(
  JSON.stringify({
    revisions: byId(({ revision }) => revision),
    keys: [...state.keys.keys()],
    projects: byId(({ config }) => config?.projects ?? []),
    problems: lookupsOf(state).problems(),
    outcomes,
  }),
)
`

/** Extracts the packages of that commit. Their imports of each other resolve to that commit, too. */
function extract(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'nextvisit-test-previous-'))
  const paths = PACKAGES.map((name) => `packages/${name}`)
  const archive = execFileSync('git', ['archive', COMMIT, 'package.json', ...paths], { cwd: ROOT, maxBuffer: 2 ** 26 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  for (const name of PACKAGES) linkDependencies(folder, name)
  return folder
}

function linkDependencies(folder: string, name: string): void {
  const installed = path.join(ROOT, 'packages', name, 'node_modules')
  const own = path.join(folder, 'packages', name, 'node_modules')
  mkdirSync(path.join(own, '@nextvisit'), { recursive: true })
  for (const other of PACKAGES) symlinkSync(path.join(folder, 'packages', other), path.join(own, '@nextvisit', other))
  const others = readdirSync(installed).filter((entry) => !entry.startsWith('@nextvisit') && !entry.startsWith('.'))
  for (const entry of others) symlinkSync(realpathSync(path.join(installed, entry)), path.join(own, entry))
}
