import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdtemp, mkdir, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const CHECKOUT = path.resolve(import.meta.dirname, '../../..')
const CACHE = path.join(CHECKOUT, 'node_modules/.cache/programs')
const PROGRAMS = ['services/*/src/main.ts', 'tools/cli/src/main.ts']
/** Files that decide the content of the bundles: all code of programs, the versions of their dependencies, and this file. */
const SOURCES = [
  '{packages,services,tools}/*/{src,generated}/**/*.{ts,json}',
  'services/*.ts',
  '{packages,services,tools}/*/package.json',
  'pnpm-lock.yaml',
  'tests/testing/src/bundled-programs.ts',
]
const TEMPORARY_PREFIX = '.'

/** Returns the file that runs a program of the checkout, for example `services/metering/src/main.ts`. */
export type ProgramOf = (source: string) => string

let bundled: Promise<ProgramOf> | undefined

/**
 * Bundles the services and the command line, unless the bundles of these sources exist. A bundle starts in half the CPU time of its
 * sources: most of that is spent on finding, reading and linking 430 modules. For specs whose subject is not the start.
 */
export function bundledPrograms(): Promise<ProgramOf> {
  bundled ??= findOrBuild()
  return bundled
}

async function findOrBuild(): Promise<ProgramOf> {
  const folder = path.join(CACHE, hashOfSources())
  if (!existsSync(folder)) await build(folder)
  return (source) => path.join(folder, source.replace(/\.ts$/, '.mjs'))
}

function hashOfSources(): string {
  const hash = createHash('sha256').update(CHECKOUT)
  for (const file of globSync(SOURCES, { cwd: CHECKOUT }).toSorted()) {
    if (!file.endsWith('.spec.ts')) hash.update(`${file}\0`).update(readFileSync(path.join(CHECKOUT, file)))
  }
  return hash.digest('hex').slice(0, 16)
}

/** Builds the bundles, and removes those of other sources. Several processes may do this at once. */
async function build(folder: string): Promise<void> {
  const { rolldown } = await import('rolldown')
  await mkdir(CACHE, { recursive: true })
  for (const name of await readdir(CACHE)) {
    if (!name.startsWith(TEMPORARY_PREFIX) && name !== path.basename(folder))
      await rm(path.join(CACHE, name), { recursive: true, force: true })
  }
  const temporary = await mkdtemp(path.join(CACHE, TEMPORARY_PREFIX))
  const bundle = await rolldown({
    cwd: CHECKOUT,
    input: Object.fromEntries(
      globSync(PROGRAMS, { cwd: CHECKOUT }).map((file) => [file.replace(/\.ts$/, ''), path.join(CHECKOUT, file)]),
    ),
    platform: 'node',
    // Not installed: pg works without it.
    external: 'pg-native',
    plugins: [{ name: 'places-of-modules', transform: withPlace }],
  })
  await bundle.write({
    dir: temporary,
    format: 'esm',
    // Logs name classes of errors.
    keepNames: true,
    entryFileNames: '[name].mjs',
    chunkFileNames: 'chunks/[name]-[hash].mjs',
  })
  await bundle.close()
  await rename(temporary, folder).catch(async (error: NodeJS.ErrnoException) => {
    if (!existsSync(folder)) throw error
    await rm(temporary, { recursive: true })
  })
}

/** Replaces the place of a module by that of its source, because programs find files beside their sources. */
function withPlace(code: string, file: string): string | undefined {
  if (!code.includes('import.meta.')) return undefined
  return code
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(file).href))
    .replaceAll('import.meta.filename', JSON.stringify(file))
    .replaceAll('import.meta.dirname', JSON.stringify(path.dirname(file)))
}
