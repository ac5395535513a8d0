import { CliError } from '../errors.ts'
import { fileError } from '../file-error.ts'
import { takeProcessLock } from '../environment/process-lock.ts'

/**
 * Locks `file` against a second import, because both would write its state. Returns a function that releases the lock. The
 * next import takes over the lock of a killed process.
 */
export async function lockFile(file: string): Promise<() => Promise<void>> {
  const lock = `${file}.import-lock`
  const taken = await takeProcessLock(lock).catch((cause: unknown) => {
    throw fileError(lock, 'written', cause)
  })
  if (taken.outcome === 'taken') return taken.release
  throw new CliError(`Process ${taken.pid} is importing ${file}: wait until it ends.`)
}
