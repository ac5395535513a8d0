import { rm } from 'node:fs/promises'
import { writeDurably } from './write-durably.ts'
import type { Line } from './read-lines.ts'

/** A line of the file of rejects. */
export function rejectLine({ number, bytes }: Line, error: string): string {
  return `${JSON.stringify({ line: number, error, original: bytes.toString('utf8') })}\n`
}

/** Writes rejects behind the first `position` bytes, where an earlier chunk or run has ended; returns the new end. */
export async function writeRejects(file: string, text: string, position: number): Promise<number> {
  if (text === '' && position === 0) {
    await rm(file, { force: true })
    return 0
  }
  await writeDurably(file, text, position)
  return position + Buffer.byteLength(text)
}
