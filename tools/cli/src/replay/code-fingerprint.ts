import { createHash } from 'node:crypto'
import { glob, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Consumer } from '@nextvisit/consumer'

const PACKAGES = path.resolve(import.meta.dirname, '../../../../packages')

/**
 * Returns a hash of the code that folds for a consumer: its own, and that of all packages. Rows folded by different code
 * must not be mixed, and package versions do not change with each commit.
 */
export async function codeFingerprint({ directory }: Pick<Consumer, 'directory'>): Promise<string> {
  const files = [
    ...(await sourcesIn(directory, ['src/**/*.ts', 'prisma/migrations/**/*.sql'])),
    ...(await sourcesIn(PACKAGES, ['*/src/**/*.ts', '*/prisma/migrations/**/*.sql'])),
  ]
  const hash = createHash('sha256')
  for (const { name, file } of files)
    hash
      .update(`${name}\0`)
      .update(await readFile(file))
      .update('\0')
  return hash.digest('hex').slice(0, 12)
}

/** Reads the sources without specs, in a fixed order, under names that do not depend on the installation folder. */
async function sourcesIn(folder: string, patterns: readonly string[]) {
  const names: string[] = []
  for await (const name of glob([...patterns], { cwd: folder })) names.push(name)
  return names
    .filter((name) => !name.endsWith('.spec.ts'))
    .toSorted()
    .map((name) => ({ name, file: path.join(folder, name) }))
}
