import { rm, stat } from 'node:fs/promises'
import { MAX_LINE_BYTES } from '@nextvisit/domain'
import { misspeltMembers } from './misspelt-members.ts'
import { writeDurably } from './write-durably.ts'
import { type Line, openLines } from './read-lines.ts'

export interface Reject {
  readonly line: number
  readonly error: string
}

/** A byte of the line takes six at most, as a JSON escape; the rest is for what is wrong with it. */
const LONGEST_REJECT_BYTES = 8 * MAX_LINE_BYTES

/** A line of the file of rejects: what is wrong, and the members that are likely to be misspelt. */
export function rejectLine({ number, bytes }: Line, reason: string): string {
  const error = [reason, ...misspeltMembers(bytes)].join('; ')
  return `${JSON.stringify({ line: number, error, original: bytes.toString('utf8') })}\n`
}

/** The first of a file of rejects, however large it is. */
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
 * Writes rejects behind the first `position` bytes, where an earlier chunk or run has ended; returns the new end. Where
 * somebody has taken the file away it begins anew.
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
