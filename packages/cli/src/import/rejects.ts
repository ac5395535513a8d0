import { rm, stat } from 'node:fs/promises'
import { writeDurably } from './write-durably.ts'
import type { Line } from './read-lines.ts'

/** A line of the file of rejects. */
export function rejectLine({ number, bytes }: Line, error: string): string {
  return `${JSON.stringify({ line: number, error, original: bytes.toString('utf8') })}\n`
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
