import { open } from 'node:fs/promises'

/** Replaces the file's content from `position` by `text`. It is on disk when the promise resolves. */
export async function writeDurably(file: string, text: string, position = 0): Promise<void> {
  const handle = await open(file, position === 0 ? 'w' : 'r+')
  try {
    await handle.truncate(position)
    await handle.write(text, position)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
