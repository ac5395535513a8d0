import { once } from 'node:events'
import { createWriteStream, fstatSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'

export interface Output {
  /** Waits where the reader of what is written is slow. */
  readonly write: (text: string) => Promise<void>
  /** Only now does the file have its name. */
  readonly complete: () => Promise<void>
  /** Takes away what was written. */
  readonly discard: () => Promise<void>
}

/** Where an export goes: standard output for `-`, else a file, which is compressed if it ends in `.gz`. */
export function openOutput(file: string): Output {
  return file === '-' ? standardOutput() : fileOutput(file)
}

function standardOutput(): Output {
  if (fstatSync(process.stdout.fd).isFile()) return redirectedOutput()
  return {
    write: async (text) => {
      if (!process.stdout.write(text)) await once(process.stdout, 'drain')
    },
    complete: async () => undefined,
    discard: async () => undefined,
  }
}

/** Node's own stream to a file takes a part that was written for the whole: the last line could be cut in silence. */
function redirectedOutput(): Output {
  const disk = createWriteStream('', { fd: process.stdout.fd, autoClose: false })
  const { written, write } = into(disk, finished(disk))
  return {
    write,
    complete: async () => {
      disk.end()
      await written
    },
    discard: async () => undefined,
  }
}

/** Written beside its name until it is whole: what has the name is never a part. */
function fileOutput(file: string): Output {
  const part = `${file}.part`
  const disk = createWriteStream(part)
  const gzip = file.endsWith('.gz') ? createGzip() : undefined
  const first: Writable = gzip ?? disk
  const { written, write } = into(first, gzip ? pipeline(gzip, disk) : finished(disk))

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

function into(stream: Writable, written: Promise<void>): { written: Promise<void>; write: Output['write'] } {
  // Whoever writes or completes hears of it.
  written.catch(() => {})
  const write: Output['write'] = async (text) => {
    if (!stream.write(text)) await Promise.race([once(stream, 'drain'), written])
  }
  return { written, write }
}

/** Forces a file, or a folder's names, onto the disk. */
async function sync(name: string): Promise<void> {
  const handle = await open(name, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
