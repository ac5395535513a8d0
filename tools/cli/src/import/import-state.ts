import { readFile, rename } from 'node:fs/promises'
import { z } from 'zod'
import { CliError, EXIT } from '../errors.ts'
import { writeDurably } from './write-durably.ts'

/** Progress of an import, written after every chunk once its records are in the log. */
const ImportState = z.object({
  /** The target, as `organization/project`. */
  project: z.string(),
  /** The format of the lines. */
  format: z.string(),
  /** The zone of times without one, as the user named it. */
  timeZone: z.string(),
  /** Number of the last processed line. */
  lastLine: z.number().int(),
  /** Of an export: number of the last line whose user is in the log. */
  usersUpTo: z.number().int(),
  /** Hash of the lines up to that line. It identifies the file. */
  sha256: z.string(),
  read: z.number().int(),
  /** Records published by this run or an earlier one. */
  inLog: z.number().int(),
  rejected: z.number().int(),
  /** Length of the file of rejects, in bytes. */
  rejectsBytes: z.number().int(),
  /** An offset per partition after all records of these lines. */
  positions: z.record(z.string(), z.string().regex(/^\d+$/)),
})
export type ImportState = z.infer<typeof ImportState>

/** Reads the state of an earlier run; undefined if there was none. */
export async function readState(file: string): Promise<ImportState | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const parsed = ImportState.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new CliError(
    `${file} cannot be read. Remove it to start over: lines that are already in the log have no effect.`,
    EXIT.usage,
  )
}

/** Writes the state. It is completely on disk when the promise resolves. */
export async function writeState(file: string, state: ImportState): Promise<void> {
  await writeDurably(`${file}.new`, JSON.stringify(state))
  await rename(`${file}.new`, file)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
