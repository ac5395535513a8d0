import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { cacheFolder } from './config.ts'
import { StackError } from './errors.ts'

/**
 * A folder in the cache, made by `build` the first time. It appears under its name only when it is complete, so an
 * interrupted build leaves nothing that is used, and of two checkouts that build at once both are right.
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
    if (!existsSync(folder)) throw error // else another checkout was faster
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
  return folder
}

function unusable(base: string, cause: NodeJS.ErrnoException): StackError {
  return cause.code === 'ENOSPC'
    ? new StackError('NO_SPACE', `The disk under ${base} is full. Make room and start again.`, { cause })
    : new StackError(
        'FOLDER_UNUSABLE',
        `Downloads are kept in ${base}, which cannot be written (${cause.code}). Set XDG_CACHE_HOME to a folder of yours.`,
        { cause },
      )
}
