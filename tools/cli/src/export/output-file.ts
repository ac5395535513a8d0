import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, fstatSync } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { CliError, EXIT } from '../errors.ts'
import { fileError } from '../file-error.ts'

/** Write buffer in bytes: one or two fetched batches, so that reading continues while zlib or the disk is busy. */
const WAITING_BYTES = 4 * 1024 * 1024
/** Settings of gzip. Each output chunk costs zlib a turn of the event loop. */
const GZIP = { chunkSize: 256 * 1024, highWaterMark: WAITING_BYTES }

interface Output {
  /** Writes text with back-pressure from the reader. */
  readonly write: (text: string) => Promise<void>
  /** Gives the file its final name. */
  readonly complete: () => Promise<void>
  /** Removes the unfinished file. */
  readonly discard: () => Promise<void>
}

/** Opens the target of an export: standard output for `-`, otherwise a file, compressed if it ends in `.gz`. */
export async function openOutput(file: string): Promise<Output> {
  return file === '-' ? standardOutput() : fileOutput(file)
}

function standardOutput(): Output {
  if (fstatSync(process.stdout.fd).isFile()) return redirectedOutput()
  return {
    write: (text) =>
      new Promise((resolve, reject) => {
        process.stdout.write(text, (cause) => (cause ? reject(readerGone(cause)) : resolve()))
      }),
    complete: async () => undefined,
    discard: async () => undefined,
  }
}

function readerGone(cause: Error): CliError {
  return new CliError('The reader closed standard output, so its copy is incomplete.', EXIT.failed, { cause })
}

/** Writes to standard output instead of Node's file stream, whose ignored partial writes could truncate the last line. */
function redirectedOutput(): Output {
  const disk = createWriteStream('', { fd: process.stdout.fd, autoClose: false, highWaterMark: WAITING_BYTES })
  const { written, write } = into('Standard output', disk, finished(disk))
  return {
    write,
    complete: async () => {
      disk.end()
      await written
    },
    discard: async () => undefined,
  }
}

/**
 * Writes under a temporary name until the file is complete, so a file with the final name is always complete. Two exports to
 * the same file have different temporary names; the last to end replaces the other's file.
 */
async function fileOutput(file: string): Promise<Output> {
  const part = `${file}.${randomBytes(4).toString('hex')}.part`
  if (await isFolder(file)) throw fileError(file, 'written', 'EISDIR')
  const handle = await open(part, 'wx').catch((cause: unknown) => {
    throw fileError(file, 'written', cause)
  })
  const disk = handle.createWriteStream({ highWaterMark: WAITING_BYTES })
  const gzip = file.endsWith('.gz') ? createGzip(GZIP) : undefined
  const first: Writable = gzip ?? disk
  const { written, write } = into(file, first, gzip ? pipeline(gzip, disk) : finished(disk))

  return {
    write,
    complete: async () => {
      first.end()
      await written
      await sync(part)
      await rename(part, file)
      await sync(path.dirname(file))
    },
    discard: async () => {
      first.destroy()
      disk.destroy()
      await rm(part, { force: true })
    },
  }
}

function into(
  name: string,
  stream: Writable,
  ended: Promise<void>,
): { written: Promise<void>; write: Output['write'] } {
  const fail = (cause: unknown) => {
    throw fileError(name, 'written', cause)
  }
  const written = ended.catch(fail)
  // `write` or `complete` reports the error.
  written.catch(() => {})
  const write: Output['write'] = async (text) => {
    if (!stream.write(text)) await Promise.race([once(stream, 'drain'), written]).catch(fail)
  }
  return { written, write }
}

async function isFolder(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined)
  return found?.isDirectory() === true
}

/** Syncs a file, or a folder's entries, to the disk. */
async function sync(name: string): Promise<void> {
  const handle = await open(name, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
