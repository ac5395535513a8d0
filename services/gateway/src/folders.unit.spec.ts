import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

const files = globSync('**/*.ts', { cwd: import.meta.dirname }).filter((file) => !file.endsWith('.spec.ts'))
const folderOf = (file: string) => file.split(path.sep)[0] ?? ''
const isInFolder = (file: string) => path.dirname(file) !== '.' && !file.startsWith('..')

function importedFoldersOf(folder: string): ReadonlySet<string> {
  const own = files.filter((file) => folderOf(file) === folder)
  const imported = own.flatMap((file) => {
    const text = readFileSync(path.join(import.meta.dirname, file), 'utf8')
    const specifiers = [...text.matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, specifier = '']) => specifier)
    return specifiers.map((specifier) => path.join(path.dirname(file), specifier))
  })
  return new Set(imported.filter(isInFolder).map(folderOf))
}

it('imports between folders of the gateway are never circular, types included', () => {
  let rest = new Map(
    [...new Set(files.filter(isInFolder).map(folderOf))].map((name) => [name, importedFoldersOf(name)]),
  )
  expect([...rest.keys()]).toEqual(
    expect.arrayContaining([
      'admission',
      'billing',
      'http',
      'idempotency',
      'ingest',
      'openapi',
      'publishing',
      'reads',
      'refusals',
    ]),
  )
  for (let size = Infinity; rest.size < size; ) {
    size = rest.size
    const left = rest
    rest = new Map([...left].filter(([name, imports]) => [...imports].some((one) => one !== name && left.has(one))))
  }
  expect([...rest.keys()], 'folders in a circle, or above one').toEqual([])
})
