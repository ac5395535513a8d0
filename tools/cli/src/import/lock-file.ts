import { readFile, rm, writeFile } from 'node:fs/promises'
import { CliError } from '../errors.ts'
import { fileError } from '../file-error.ts'
import { isRunning } from '../is-running.ts'

/**
 * Keeps a second import of `file` away: both would write its state. Returns what ends that. A process that was killed
 * has left its lock behind; the next one takes it over.
 */
export async function lockFile(file: string): Promise<() => Promise<void>> {
  const lock = `${file}.import-lock`
  const release = () => rm(lock, { force: true })
  if (await take(lock)) return release
  const owner = await ownerOf(lock)
  if (owner !== undefined && owner !== process.pid && isRunning(owner)) throw busy(file, lock, owner)
  await release()
  if (await take(lock)) return release
  throw busy(file, lock, await ownerOf(lock))
}

/** Whether it was free. */
async function take(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw fileError(lock, 'written', error)
  }
}

async function ownerOf(lock: string): Promise<number | undefined> {
  const pid = Number(await readFile(lock, 'utf8').catch(() => ''))
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
}

function busy(file: string, lock: string, owner = 0): CliError {
  return new CliError(
    `${file} is being imported by process ${owner}: wait until that ends (or remove ${lock}, if that is something else).`,
  )
}
