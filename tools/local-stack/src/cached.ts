import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { cacheFolder } from './config.ts'
import { StackError } from './errors.ts'

/**
 * Returns a folder in the cache; `build` creates it the first time. The folder gets its name only when it is complete, so
 * an interrupted build is never used, and two checkouts can build at the same time.
 */
export async function cached(
  name: string,
  build: (folder: string) => Promise<void>,
  base = cacheFolder(),
): Promise<string> {
  const folder = path.join(base, name)
  if (existsSync(folder)) return folder
  const unfinished = `${folder}.${randomBytes(6).toString('hex')}`
  await mkdir(unfinished, { recursive: true }).catch((cause: NodeJS.ErrnoException) => {
    throw unusable(base, cause)
  })
  try {
    await build(unfinished)
    await rename(unfinished, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error // otherwise another checkout was faster
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return folder
}

function unusable(base: string, cause: NodeJS.ErrnoException): StackError {
  return cause.code === 'ENOSPC'
    ? new StackError('NO_SPACE', `The disk under ${base} is full. Free some space and start again.`, { cause })
    : new StackError(
        'FOLDER_UNUSABLE',
        `The download cache ${base} cannot be written (${cause.code}). Set XDG_CACHE_HOME to a folder that you own.`,
        { cause },
      )
}
