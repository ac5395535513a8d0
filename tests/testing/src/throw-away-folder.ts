import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Linux' in-memory file system. */
const IN_MEMORY = '/dev/shm'
/** Required free space. A run uses less than 0.5 GB at once. In containers this file system often has only 64 MB. */
const ENOUGH_BYTES = 2 * 2 ** 30

/**
 * Creates a folder for temporary data, in memory if there is room. Specs create and drop hundreds of databases of 300 files.
 * On a disk, this can cost as much CPU time as all their queries (performance.md, A test run).
 */
export async function throwAwayFolder(inMemory = IN_MEMORY): Promise<string> {
  const free = await freeBytes(inMemory)
  if (free > 0) await removeLeftFolders(inMemory)
  return mkdtemp(path.join(free >= ENOUGH_BYTES ? inMemory : tmpdir(), `nextvisit-test-${process.pid}-`))
}

/** Returns the free bytes; 0 if the file system does not exist or this user may not use it. */
async function freeBytes(folder: string): Promise<number> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
}

/** Removes the folders of killed runs, which would otherwise occupy memory. */
async function removeLeftFolders(inMemory: string): Promise<void> {
  for (const name of await readdir(inMemory)) {
    const [, pid] = /^nextvisit-test-(\d+)-/.exec(name) ?? []
    if (pid === undefined || isRunning(Number(pid))) continue
    // Folders of other users cannot be removed.
    await rm(path.join(inMemory, name), { recursive: true, force: true }).catch(() => {})
  }
}

/** Returns true if the process runs. False for another user's process, whose folder cannot be removed. */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
