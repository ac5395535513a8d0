import { readFile, rename } from 'node:fs/promises'
import { z } from 'zod'
import { CliError, EXIT } from '../errors.ts'
import { writeDurably } from './write-durably.ts'

/** How far an import is: written after every chunk, once its records are in the log. */
const ImportState = z.object({
  /** `organization/project` */
  project: z.string(),
  /** Number of the last line that was dealt with. */
  lastLine: z.number().int(),
  /** Of the lines up to that one: what tells this file from another. */
  sha256: z.string(),
  read: z.number().int(),
  /** In the log, by this run or an earlier one. */
  inLog: z.number().int(),
  rejected: z.number().int(),
  /** How long the file of rejects was. */
  rejectsBytes: z.number().int(),
  /** For each partition an offset behind everything that these lines came to. */
  positions: z.record(z.string(), z.string().regex(/^\d+$/)),
})
export type ImportState = z.infer<typeof ImportState>

/** What an earlier run has left, if there was one. */
export async function readState(file: string): Promise<ImportState | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const parsed = ImportState.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new CliError(
    `${file} cannot be read. Remove it to begin anew: what is in the log already has no effect twice.`,
    EXIT.usage,
  )
}

/** On the disk before it returns, and never half of it. */
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
