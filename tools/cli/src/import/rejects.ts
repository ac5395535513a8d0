import { rm, stat } from 'node:fs/promises'
import type { LineFormat } from './line-format.ts'
import { lineShape } from './line-shape.ts'
import { misspeltMembers, otherFormat } from './misspelt-members.ts'
import { writeDurably } from './write-durably.ts'
import type { Line } from './read-lines.ts'

export interface Reject {
  /** The line's number. 0: the traits of a user, which the lines of an export had together. */
  readonly line: number
  /** The error, with hints about the shape of the line and misspelt members. */
  readonly error: string
  readonly original: string
}

export function rejectOf({ number, bytes }: Line, reason: string, format: LineFormat = 'nextvisit'): Reject {
  const hints = format === 'nextvisit' ? misspeltMembers(bytes) : otherFormat(bytes, format)
  const error = [reason, ...lineShape(bytes), ...hints].join('; ')
  // An item of an array may have line breaks, which JSON allows only between values.
  const original = bytes.toString('utf8').replaceAll(/[\r\n]+\s*/g, ' ')
  return { line: number, error, original }
}

/** Returns the name of the file of rejects. A dry run has its own, because an interrupted import may continue later. */
export function rejectsFileOf(file: string, isDryRun: boolean): string {
  return isDryRun ? `${file}.dry-run.rejects.ndjson` : `${file}.rejects.ndjson`
}

/**
 * Writes rejects after the first `position` bytes, the end of the previous chunk or run. Returns the new end. If the file
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
