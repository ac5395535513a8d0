import { readFile, rm, writeFile } from 'node:fs/promises'
import { CliError } from '../errors.ts'
import { fileError } from '../file-error.ts'
import { isRunning } from '../is-running.ts'

/**
 * Locks `file` against a second import, because both would write its state. Returns a function that releases the lock. The
 * lock of a killed process is taken over by the next import.
 */
export async function lockFile(file: string): Promise<() => Promise<void>> {
  const lock = `${file}.import-lock`
  const release = () => rm(lock, { force: true })
  if (await take(lock)) return release
  const holder = await holderOf(lock)
  if (holder !== undefined && holder !== process.pid && isRunning(holder)) throw busy(file, lock, holder)
  await release()
  if (await take(lock)) return release
  throw busy(file, lock, await holderOf(lock))
}

/** Creates the lock. False if it exists. */
async function take(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw fileError(lock, 'written', error)
  }
}

async function holderOf(lock: string): Promise<number | undefined> {
  const pid = Number(await readFile(lock, 'utf8').catch(() => ''))
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
}

function busy(file: string, lock: string, holder = 0): CliError {
  return new CliError(
    `${file} is being imported by process ${holder}: wait until that ends (or remove ${lock} if that process is not an import).`,
  )
}
