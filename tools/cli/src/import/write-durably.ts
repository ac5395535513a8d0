import { open } from 'node:fs/promises'

/** Makes `text` all that is in the file, or what is in it from `position` on; on the disk before it returns. */
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
