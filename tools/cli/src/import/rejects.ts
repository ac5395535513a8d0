import { rm, stat } from 'node:fs/promises'
import { MAX_LINE_BYTES } from '@nextvisit/domain'
import { misspeltMembers } from './misspelt-members.ts'
import { writeDurably } from './write-durably.ts'
import { type Line, openLines } from './read-lines.ts'

export interface Reject {
  readonly line: number
  readonly error: string
}

/** A byte of the line needs at most six as a JSON escape. The rest is for the error text. */
const LONGEST_REJECT_BYTES = 8 * MAX_LINE_BYTES

/** A line of the file of rejects: the error, and members that are probably misspelt. */
export function rejectLine({ number, bytes }: Line, reason: string): string {
  const error = [reason, ...misspeltMembers(bytes)].join('; ')
  return `${JSON.stringify({ line: number, error, original: bytes.toString('utf8') })}\n`
}

/** Reads the first entries of a file of rejects, without reading the whole file. */
export async function readFirstRejects(file: string, count: number): Promise<readonly Reject[]> {
  const found: Reject[] = []
  const { lines } = await openLines(file, LONGEST_REJECT_BYTES)
  for await (const { bytes } of lines()) {
    const { line, error } = JSON.parse(bytes.toString('utf8')) as Reject
    found.push({ line, error })
    if (found.length === count) break
  }
  return found
}

/**
 * Writes rejects after the first `position` bytes, where the previous chunk or run ended. Returns the new end. If the file
 * was removed, it starts a new one.
 */
export async function writeRejects(file: string, text: string, position: number): Promise<number> {
  const size = await sizeOf(file)
  const from = Math.min(position, size)
  const end = from + Buffer.byteLength(text)
  if (end === 0) await rm(file, { force: true })
  else if (text !== '' || size > from) await writeDurably(file, text, from)
  return end
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}
