/** `pnpm generate`: builds the console's pages into `generated/web` if their sources have changed. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { selectProductionBuild } from './config.ts'

const folder = path.resolve(import.meta.dirname, '..')
const generated = path.join(folder, 'generated')
const stamp = path.join(generated, 'web.sha256')
const WEB_FORM = '../../packages/web-form/src'
/** The pages, the code that they share with others, the exact versions of the build tools, and the runbooks. */
const SOURCES = ['web', 'src', 'package.json', 'scripts', WEB_FORM, '../../docs/runbooks']

async function filesOf(source: string): Promise<readonly string[]> {
  const whole = path.join(folder, source)
  if (path.extname(source) !== '') return [whole]
  const entries = await readdir(whole, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name))
}

async function hashOfSources(): Promise<string> {
  const files = (await Promise.all(SOURCES.map(filesOf))).flat().toSorted()
  const hash = createHash('sha256')
  for (const file of files) hash.update(path.relative(folder, file)).update(await readFile(file))
  return hash.digest('hex')
}

async function build(): Promise<void> {
  selectProductionBuild()
  // Loaded on demand: loading them takes longer than everything else.
  const [{ build: buildPages }, { default: react }] = await Promise.all([
    import('vite'),
    import('@vitejs/plugin-react'),
  ])
  await buildPages({
    root: path.join(folder, 'web'),
    configFile: false,
    // Addresses are relative to `<base>`, which the server sets.
    base: './',
    plugins: [react()],
    // The package is built only when it is published.
    resolve: { alias: { '@nextvisit/web-form': path.join(folder, WEB_FORM, 'index.ts') } },
    logLevel: 'warn',
    build: {
      outDir: path.join(generated, 'web'),
      emptyOutDir: true,
      modulePreload: { polyfill: false },
      // The Content-Security-Policy allows nothing inline.
      assetsInlineLimit: 0,
      chunkSizeWarningLimit: 1_000,
    },
  })
}

const wanted = await hashOfSources()
if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted) {
  console.log('services/console: pages are current')
} else {
  await rm(stamp, { force: true })
  await build()
  await writeFile(stamp, wanted)
  console.log('services/console: pages built')
}
