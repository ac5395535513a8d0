import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Linux' file system in memory. */
const IN_MEMORY = '/dev/shm'
/** A run has less than half a GB at once. In containers this file system often has only 64 MB. */
const ENOUGH_BYTES = 2 * 2 ** 30

/**
 * A new folder for what nobody keeps, in memory if there is room. Specs create and drop hundreds of databases, of 300 files each.
 * On a disk this can cost as much CPU time as all their queries (docs/performance.md, A test run).
 */
export async function throwAwayFolder(): Promise<string> {
  const free = await bytesInMemory()
  if (free > 0) await removeLeftFolders()
  return mkdtemp(path.join(free >= ENOUGH_BYTES ? IN_MEMORY : tmpdir(), `nextvisit-test-${process.pid}-`))
}

/** The free bytes in memory; 0 where there is no such file system, or not for this user. */
async function bytesInMemory(): Promise<number> {
  return statfs(IN_MEMORY).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
}

/** A run that was killed leaves its folder, and what is in memory stays until somebody removes it. */
async function removeLeftFolders(): Promise<void> {
  for (const name of await readdir(IN_MEMORY)) {
    const [, pid] = /^nextvisit-test-(\d+)-/.exec(name) ?? []
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue
    // Another user's cannot be removed.
    await rm(path.join(IN_MEMORY, name), { recursive: true, force: true }).catch(() => {})
  }
}
