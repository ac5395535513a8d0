import { readFile, rename } from 'node:fs/promises'
import { z } from 'zod'
import { CliError, EXIT } from '../errors.ts'
import { writeDurably } from './write-durably.ts'

/** The progress of an import. It is written after every chunk, when the chunk's records are in the log. */
const ImportState = z.object({
  /** The target, as `organization/project`. */
  project: z.string(),
  /** Number of the last processed line. */
  lastLine: z.number().int(),
  /** Hash of the lines up to that one. It identifies the file. */
  sha256: z.string(),
  read: z.number().int(),
  /** Records published by this run or an earlier one. */
  inLog: z.number().int(),
  rejected: z.number().int(),
  /** The length of the file of rejects, in bytes. */
  rejectsBytes: z.number().int(),
  /** For each partition, an offset after all records of these lines. */
  positions: z.record(z.string(), z.string().regex(/^\d+$/)),
})
export type ImportState = z.infer<typeof ImportState>

/** Reads the state of an earlier run, if there was one. */
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

/** Writes the state. It is on disk, complete, when the promise resolves. */
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
