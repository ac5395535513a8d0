import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'

const ROOT = path.join(import.meta.dirname, '../../..')

function isInFolder(file: string): boolean {
  return path.dirname(file) !== '.' && !file.startsWith('..')
}

function folderOf(file: string): string {
  return file.split(path.sep)[0] ?? ''
}

/** Returns the folders that each folder of a source tree imports. Imports of types count; those of specs do not. */
function readImportedFolders(source: string): Map<string, ReadonlySet<string>> {
  const files = globSync('**/*.ts', { cwd: source }).filter((file) => !file.endsWith('.spec.ts') && isInFolder(file))
  const importedBy = (file: string): readonly string[] => {
    const text = readFileSync(path.join(source, file), 'utf8')
    const specifiers = [...text.matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, specifier = '']) => specifier)
    return specifiers.map((specifier) => path.join(path.dirname(file), specifier)).filter(isInFolder)
  }
  const byFolder = Map.groupBy(files, folderOf)
  return new Map(Array.from(byFolder, ([name, own]) => [name, new Set(own.flatMap(importedBy).map(folderOf))]))
}

/** Returns the folders that are in a circle, or import one that is. */
function findCircles(imports: Map<string, ReadonlySet<string>>): readonly string[] {
  let rest = imports
  for (let size = Infinity; rest.size < size; ) {
    size = rest.size
    const left = rest
    rest = new Map([...left].filter(([name, imported]) => [...imported].some((one) => one !== name && left.has(one))))
  }
  return [...rest.keys()]
}

it.each([['packages/consumer', ['assign', 'dead-letters', 'fold', 'outbox', 'process', 'replies', 'ticks', 'watch']]])(
  'imports between folders of %s go one way',
  (directory, folders) => {
    const imports = readImportedFolders(path.join(ROOT, directory, 'src'))
    expect([...imports.keys()].toSorted()).toEqual(folders)
    expect(findCircles(imports)).toEqual([])
  },
)
