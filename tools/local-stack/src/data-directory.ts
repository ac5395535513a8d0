import { mkdir, statfs } from 'node:fs/promises'
import path from 'node:path'
import { takeProcessLock } from '@nextvisit/cli/process-lock'
import { StackError } from './errors.ts'

const NEEDED_BYTES = 512 * 2 ** 20

/**
 * Creates the folder, checks its disk space and locks it for this process. Returns a function that releases the lock. A
 * lock is valid only while its process runs, so the lock of a killed process does not count.
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
  const taken = await takeProcessLock(path.join(folder, 'lock')).catch((cause: NodeJS.ErrnoException) => {
    throw unusable(folder, cause)
  })
  if (taken.outcome === 'taken') return taken.release
  throw new StackError(
    'ALREADY_RUNNING',
    `Nextvisit is already running with this data folder (${folder}, process ${taken.pid}). Stop it, or set NEXTVISIT_DATA and GATEWAY_PORT for a second stack.`,
  )
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
