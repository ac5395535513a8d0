import { globSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

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

const PARTS = globSync('{packages,services,tools,tests}/*/package.json', { cwd: ROOT }).map((file) =>
  path.dirname(file),
)
const CONSUMERS = globSync('services/*/src/consumer.ts', { cwd: ROOT }).map((file) => path.dirname(path.dirname(file)))
const CONTRIBUTING = readFileSync(path.join(ROOT, 'docs/CONTRIBUTING.md'), 'utf8')

/** Returns the names that CONTRIBUTING.md marks as code in a passage, from its beginning to its end. */
function namedIn(begin: string, end: string): readonly string[] {
  const [, passage = ''] = CONTRIBUTING.split(begin)
  return Array.from((passage.split(end)[0] ?? '').matchAll(/`([\w.-]+)`/g), ([, name = '']) => name)
}

describe('the folder', () => {
  it.each(PARTS)('%s has subfolders of src that import each other one way', (directory) => {
    expect(findCircles(readImportedFolders(path.join(ROOT, directory, 'src')))).toEqual([])
  })

  it.each(PARTS)('%s has only subfolders that CONTRIBUTING.md lists', (directory) => {
    const folders = readdirSync(path.join(ROOT, directory), { withFileTypes: true }).filter((one) => one.isDirectory())
    const listed = ['node_modules', 'dist', ...namedIn('Folders of a package or service:', 'Folders of `src`')]
    expect(listed).toEqual(expect.arrayContaining(folders.map(({ name }) => name)))
  })

  it.each(CONSUMERS)('%s has the subfolders and files that every consumer has', (directory) => {
    const files = namedIn('| File in `src` | Content |', 'A fold that reads rows')
    expect(files).toContain('projection.ts')
    expect(readdirSync(path.join(ROOT, directory, 'src'))).toEqual(expect.arrayContaining([...files]))
    expect(readdirSync(path.join(ROOT, directory))).toEqual(
      expect.arrayContaining(['generated', 'prisma', 'src', 'test']),
    )
  })
})
