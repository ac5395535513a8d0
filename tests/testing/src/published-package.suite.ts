import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const run = promisify(execFile)
const ATTW = path.resolve(import.meta.dirname, '../node_modules/.bin/attw')
const PACK_WITHIN_MS = 60_000

interface PublishedPackage {
  /** Folder of its package.json. */
  readonly folder: string
  /** Maximum size of the code that `import` loads, gzipped. */
  readonly maxGzippedBytes: number
  /** Names of its exports at run time. */
  readonly exports: readonly string[]
}

/** Tests the published files of a package for customers. Builds and packs it. */
export function describePublishedPackage({ folder, maxGzippedBytes, exports }: PublishedPackage): void {
  describe('the published package', () => {
    let destination: string
    let tarball: string
    beforeAll(async () => {
      destination = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-pack-'))
      const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', destination], { cwd: folder })
      const [packed] = JSON.parse(stdout.slice(stdout.search(/^\[/m))) as { readonly filename: string }[]
      tarball = path.join(destination, packed?.filename ?? '')
    }, PACK_WITHIN_MS)
    afterAll(() => rm(destination, { recursive: true, force: true }))

    it('passes publint', async () => {
      const bytes = await readFile(tarball)
      const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(bytes).buffer }, strict: true })
      expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
    })

    it('has types that match its code in every module system', async () => {
      // ESM only: Node 20.19 and newer can `require` it, too.
      const checked = run(ATTW, [tarball, '--profile', 'esm-only', '--no-emoji', '--format', 'table-flipped'])
      const complaint = await checked.then(
        () => '',
        (error: Error & { readonly stdout?: string }) => error.stdout ?? error.message,
      )
      expect(complaint).toBe('')
    })

    it('has no dependencies, and contains its licence, README and types', async () => {
      const packageJson = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as object
      expect(packageJson).not.toHaveProperty('dependencies')
      expect(packageJson).not.toHaveProperty('peerDependencies')
      const { stdout } = await run('tar', ['-tzf', tarball])
      expect(stdout.split('\n')).toEqual(
        expect.arrayContaining([
          'package/LICENSE',
          'package/README.md',
          'package/dist/index.js',
          'package/dist/index.d.ts',
        ]),
      )
    })

    it('can be installed in an empty project without a registry, and imported', async () => {
      const project = path.join(destination, 'project')
      await mkdir(project)
      await writeFile(path.join(project, 'package.json'), '{ "private": true }')
      await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: project })
      const { name } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as {
        readonly name: string
      }
      const code = `console.log(JSON.stringify(Object.keys(await import('${name}'))))`
      const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], { cwd: project })
      expect(JSON.parse(stdout)).toEqual(exports)
    })

    it(`is at most ${maxGzippedBytes} bytes, gzipped`, async () => {
      const code = await readFile(path.join(folder, 'dist/index.js'))
      expect(code.toString()).not.toMatch(/\bimport\b/)
      expect(gzipSync(code, { level: 9 }).length).toBeLessThanOrEqual(maxGzippedBytes)
    })
  })
}
