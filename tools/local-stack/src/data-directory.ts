import { link, mkdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { StackError } from './errors.ts'
import { processInfo } from './process-info.ts'

const NEEDED_BYTES = 512 * 2 ** 20

/**
 * Creates the folder, checks its disk space and locks it for this process. Returns a function that releases the lock. The
 * lock of a killed process does not count: a lock is valid only while exactly its process runs.
 */
export async function takeDataDirectory(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    throw unusable(folder, cause)
  })
  await requireSpace(folder, NEEDED_BYTES)
  return takeLock(folder)
}

/** Throws NO_SPACE if the folder's disk has less free space. */
export async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < bytes) throw noSpace(folder, bavail * bsize)
}

async function takeLock(folder: string): Promise<() => Promise<void>> {
  const file = path.join(folder, 'lock')
  const mine = `${process.pid} ${processInfo(process.pid)?.startedAt}`
  for (;;) {
    if (await createWhole(folder, file, mine)) return () => rm(file, { force: true })
    const holder = await readFile(file, 'utf8').catch(() => '')
    const pid = Number.parseInt(holder, 10)
    if (holder === `${pid} ${processInfo(pid)?.startedAt}`) {
      throw new StackError(
        'ALREADY_RUNNING',
        `Nextvisit is running with this data folder already (${folder}, process ${pid}). Stop it, or set NEXTVISIT_DATA and GATEWAY_PORT for a second one.`,
      )
    }
    await removeStale(file, holder)
  }
}

/** Creates the lock with its content in one step, so that nobody reads half of it. False if a lock exists. */
async function createWhole(folder: string, file: string, content: string): Promise<boolean> {
  const draft = `${file}.${process.pid}`
  try {
    await writeFile(draft, content, { mode: 0o600 })
    await link(draft, file)
    return true
  } catch (error) {
    const cause = error as NodeJS.ErrnoException
    if (cause.code !== 'EEXIST') throw unusable(folder, cause)
    return false
  } finally {
    await rm(draft, { force: true })
  }
}

/** Removes the lock of a dead process. Puts it back if another start has replaced it meanwhile. */
async function removeStale(file: string, stale: string): Promise<void> {
  const aside = `${file}.${process.pid}.stale`
  const isThere = await rename(file, aside).then(
    () => true,
    () => false,
  )
  if (!isThere) return
  if ((await readFile(aside, 'utf8')) !== stale) await link(aside, file).catch(() => undefined)
  await rm(aside, { force: true })
}

function noSpace(folder: string, bytes: number): StackError {
  return new StackError(
    'NO_SPACE',
    `The disk is full: ${Math.floor(bytes / 2 ** 20)} MB are free under ${folder}, and ${NEEDED_BYTES / 2 ** 20} MB are needed. Free some space, or set NEXTVISIT_DATA to a folder on another disk.`,
  )
}

function unusable(folder: string, cause: NodeJS.ErrnoException): StackError {
  if (cause.code === 'ENOSPC') return noSpace(folder, 0)
  return new StackError(
    'FOLDER_UNUSABLE',
    `The data folder ${folder} cannot be written (${cause.code}). Set NEXTVISIT_DATA to a folder that you own.`,
    { cause },
  )
}
