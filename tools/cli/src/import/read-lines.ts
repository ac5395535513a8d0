import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import path from 'node:path'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CliError, EXIT } from '../errors.ts'
import { splitItems } from './split-items.ts'

export interface Line {
  /** Line number, from 1; of an item of a JSON array, its position in the array, from 1. */
  readonly number: number
  /** Content without the line end; only the beginning of a line that is too long. */
  readonly bytes: Buffer
}

export interface LineOptions {
  /** A longer line is cut after `maxBytes` + 1. */
  readonly maxBytes: number
  /** The file may also be a JSON array, whose items are its lines. */
  readonly mayBeArray?: boolean
}

const NEWLINE = 0x0a
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const LEFT_BRACKET = 0x5b

/** The first bytes of files that are no text in UTF-8. */
const BEGINS = {
  gzip: [Buffer.from([0x1f, 0x8b])],
  archive: [Buffer.from('PK\u0003\u0004')],
  utf16: [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])],
} as const
const LONGEST_BEGIN = 4

/** Opens a file of lines. Its first bytes say whether it is compressed, because names of downloads are often wrong. */
export async function openLines(file: string, options: LineOptions) {
  const { size } = await stat(file)
  const begin = await firstBytes(file)
  const begins = (kind: keyof typeof BEGINS) =>
    BEGINS[kind].some((bytes) => begin.subarray(0, bytes.length).equals(bytes))
  if (begins('archive')) throw isArchive(file)
  if (begins('utf16')) throw isUtf16(file)
  const isGzip = begins('gzip')
  const disk = createReadStream(file)
  return {
    /** Yields every line that is not blank. */
    lines: (): AsyncGenerator<Line> => (isGzip ? unzippedLines(file, disk, options) : linesOf(file, disk, options)),
    /** Returns the share of the file that was read, from 0 to 1. */
    share: (): number => (size === 0 ? 1 : disk.bytesRead / size),
  }
}

async function firstBytes(file: string): Promise<Buffer> {
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LONGEST_BEGIN), 0, LONGEST_BEGIN, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

function isArchive(file: string): CliError {
  const { name, base } = path.parse(file)
  const lines = `${name}.json.gz`
  return new CliError(
    `${file} is an archive. Join the compressed files in it (unzip -p ${base} '*.json.gz' > ${lines}), and import ${lines}.`,
    EXIT.usage,
  )
}

function isUtf16(file: string): CliError {
  const { name, ext, base } = path.parse(file)
  const text = `${name}.utf8${ext}`
  return new CliError(
    `${file} is UTF-16. Convert it to UTF-8 (iconv -f UTF-16 -t UTF-8 ${base} > ${text}), and import ${text}.`,
    EXIT.usage,
  )
}

async function* unzippedLines(file: string, disk: Readable, options: LineOptions): AsyncGenerator<Line> {
  const gunzip = createGunzip()
  try {
    yield* linesOf(
      file,
      pipeline(disk, gunzip, () => {}),
      options,
    )
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    if (!code.startsWith('Z_')) throw cause
    throw isDamaged(file, code, cause)
  }
  // Zeros after its end are padding. zlib reads nothing after them, not even another compressed file.
  for await (const rest of createReadStream(file, { start: gunzip.bytesWritten }) as AsyncIterable<Buffer>)
    if (rest.some((byte) => byte !== 0)) throw isDamaged(file, 'data after its end')
}

function isDamaged(file: string, because: string, cause?: unknown): CliError {
  return new CliError(
    `${file} is truncated or damaged gzip (${because}): provide the whole file, and run the import again; records in the log are unaffected.`,
    EXIT.failed,
    { cause },
  )
}

async function* linesOf(file: string, stream: Readable, { maxBytes, mayBeArray }: LineOptions): AsyncGenerator<Line> {
  if (!mayBeArray) return yield* splitLines(stream, maxBytes)
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const begun: Buffer[] = []
  let first: number | undefined
  while (first === undefined) {
    const next = await chunks.next()
    if (next.done) break
    begun.push(next.value)
    const begin = begun.length === 1 ? withoutMark(next.value) : next.value
    first = begin.find((byte) => !isBlank(byte))
  }
  const whole = joined(begun, chunks)
  if (first !== LEFT_BRACKET) return yield* splitLines(whole, maxBytes)
  let number = 0
  for await (const bytes of splitItems(file, whole, maxBytes)) yield { number: ++number, bytes }
}

async function* joined(begun: readonly Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield* begun
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}

async function* splitLines(stream: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Line> {
  let number = 0
  let rest: Buffer = Buffer.alloc(0)
  const take = (end: Buffer): Line | undefined => {
    number += 1
    const bytes = trimmed(keep(rest, end, maxBytes))
    rest = Buffer.alloc(0)
    return bytes.every(isBlank) ? undefined : { number, bytes }
  }
  for await (const chunk of stream) {
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

/** Returns whether a byte is white space: a tab, a line break or a space. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
}

/** Removes a carriage return at the end of a line, and a byte order mark at its beginning: joined files may have several. */
function trimmed(bytes: Buffer): Buffer {
  const begun = withoutMark(bytes)
  return begun.at(-1) === 0x0d ? begun.subarray(0, -1) : begun
}

function withoutMark(bytes: Buffer): Buffer {
  const hasMark = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
  return hasMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes
}
