import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Linux' file system in memory. */
const IN_MEMORY = '/dev/shm'
/** A run has less than half a GB at once. In containers this file system often has only 64 MB. */
const ENOUGH_BYTES = 2 * 2 ** 30

/**
 * A new folder for what nobody keeps, in memory if there is room. Specs create and drop hundreds of databases, of 300 files each.
 * On a disk this can cost as much CPU time as all their queries (docs/reference/performance.md, A test run).
 */
export async function throwAwayFolder(inMemory = IN_MEMORY): Promise<string> {
  const free = await freeBytes(inMemory)
  if (free > 0) await removeLeftFolders(inMemory)
  return mkdtemp(path.join(free >= ENOUGH_BYTES ? inMemory : tmpdir(), `nextvisit-test-${process.pid}-`))
}

/** 0 where there is no such file system, or not for this user. */
async function freeBytes(folder: string): Promise<number> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
}

/** A run that was killed leaves its folder, and what is in memory stays until somebody removes it. */
async function removeLeftFolders(inMemory: string): Promise<void> {
  for (const name of await readdir(inMemory)) {
    const [, pid] = /^nextvisit-test-(\d+)-/.exec(name) ?? []
    if (pid === undefined || isRunning(Number(pid))) continue
    // Another user's cannot be removed.
    await rm(path.join(inMemory, name), { recursive: true, force: true }).catch(() => {})
  }
}

/** False for another user's, whose folder cannot be removed anyway. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
