import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const EXACT = /^(?:\d+\.\d+\.\d+(?:-[\w.]+)?|catalog:|workspace:\*)$/
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')

interface Versions {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly catalog?: Readonly<Record<string, string>>
}

/** Returns `name: version` for each version that another install may resolve otherwise. */
function inexactIn({ dependencies, devDependencies, optionalDependencies, catalog }: Versions): readonly string[] {
  const all = [dependencies, devDependencies, optionalDependencies, catalog].flatMap((some) =>
    Object.entries(some ?? {}),
  )
  return all.flatMap(([name, version]) => (EXACT.test(version) ? [] : `${name}: ${version}`))
}

it.each([
  'package.json',
  'pnpm-workspace.yaml',
  ...globSync('{examples,packages,services,tests,tools}/{package.json,*/package.json}', { cwd: ROOT }),
])('%s names exact versions only', (file) => {
  expect(inexactIn(parse(read(file)) as Versions)).toEqual([])
})
