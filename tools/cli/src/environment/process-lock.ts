import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { processInfo } from './process-info.ts'

/**
 * Takes the lock `file` for this process. A lock is valid only while its process runs: the lock of a killed process
 * does not count. Throws the error of the operating system if the file cannot be written.
 */
export async function takeProcessLock(
  file: string,
): Promise<
  | { readonly outcome: 'taken'; readonly release: () => Promise<void> }
  | { readonly outcome: 'busy'; readonly pid: number }
> {
  const mine = `${process.pid} ${processInfo(process.pid)?.startedAt}`
  for (;;) {
    if (await createWhole(file, mine)) return { outcome: 'taken', release: () => rm(file, { force: true }) }
    const holder = await readFile(file, 'utf8').catch(() => '')
    const pid = Number.parseInt(holder, 10)
    if (holder === `${pid} ${processInfo(pid)?.startedAt}`) return { outcome: 'busy', pid }
    await removeStale(file, holder)
  }
}

/** Creates the lock with its content atomically. Returns false if a lock exists. */
async function createWhole(file: string, content: string): Promise<boolean> {
  const draft = `${file}.${process.pid}`
  try {
    await writeFile(draft, content)
    await link(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    await rm(draft, { force: true })
  }
}

/** Removes the lock of a dead process. Puts it back if another process has replaced it meanwhile. */
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
