import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CliError, EXIT } from '../errors.ts'

export interface Line {
  /** Line number, from 1. */
  readonly number: number
  /** Content without the line end; only the beginning of a line that is too long. */
  readonly bytes: Buffer
}

const NEWLINE = 0x0a
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Opens a file of lines, compressed if it ends in `.gz`. A line longer than `maxBytes` is cut after `maxBytes` + 1. */
export async function openLines(file: string, maxBytes: number) {
  const { size } = await stat(file)
  const disk = createReadStream(file)
  return {
    /** Yields every line that is not blank. */
    lines: (): AsyncGenerator<Line> =>
      file.endsWith('.gz') ? unzippedLines(file, disk, maxBytes) : splitLines(disk, maxBytes),
    /** Returns the share of the file that was read, from 0 to 1. */
    share: (): number => (size === 0 ? 1 : disk.bytesRead / size),
  }
}

async function* unzippedLines(file: string, disk: Readable, maxBytes: number): AsyncGenerator<Line> {
  try {
    yield* splitLines(
      pipeline(disk, createGunzip(), () => {}),
      maxBytes,
    )
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    if (!code.startsWith('Z_')) throw cause
    throw new CliError(
      `${file} is truncated or not gzip (${code}): provide the whole file, and run the import again; records in the log are unaffected.`,
      EXIT.failed,
      { cause },
    )
  }
}

async function* splitLines(stream: Readable, maxBytes: number): AsyncGenerator<Line> {
  let number = 0
  let rest: Buffer = Buffer.alloc(0)
  const take = (end: Buffer): Line | undefined => {
    number += 1
    const bytes = trimmed(keep(rest, end, maxBytes), number)
    rest = Buffer.alloc(0)
    return bytes.length === 0 ? undefined : { number, bytes }
  }
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      const line = take(chunk.subarray(from, to))
      from = to + 1
      if (line) yield line
    }
    rest = keep(rest, chunk.subarray(from), maxBytes)
  }
  const last = rest.length > 0 ? take(Buffer.alloc(0)) : undefined
  if (last) yield last
}

function keep(begin: Buffer, end: Buffer, maxBytes: number): Buffer {
  const room = Math.max(0, maxBytes + 1 - begin.length)
  return begin.length === 0 ? end.subarray(0, room) : Buffer.concat([begin, end.subarray(0, room)])
}

/** Removes a carriage return at the end of a line, and a byte order mark at the beginning of the file. */
function trimmed(bytes: Buffer, number: number): Buffer {
  const hasMark = number === 1 && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
  const begun = hasMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes
  return begun.at(-1) === 0x0d ? begun.subarray(0, -1) : begun
}
