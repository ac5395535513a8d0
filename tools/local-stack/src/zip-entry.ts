import { inflateRawSync } from 'node:zlib'

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50
const DEFLATED = 8

/** Reads a file from a zip archive such as a jar; undefined if it does not exist. Does not support zip64. */
export function readZipEntry(archive: Buffer, name: string): Buffer | undefined {
  let end = archive.length - 22
  while (end >= 0 && archive.readUInt32LE(end) !== END_OF_DIRECTORY) end -= 1
  if (end < 0) throw new RangeError('Not a zip archive.')

  const entries = archive.readUInt16LE(end + 10)
  let at = archive.readUInt32LE(end + 16)
  for (let entry = 0; entry < entries; entry += 1) {
    if (archive.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new RangeError('The zip archive is damaged.')
    const nameLength = archive.readUInt16LE(at + 28)
    if (archive.toString('utf8', at + 46, at + 46 + nameLength) === name) return contentOf(archive, at)
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  return undefined
}

function contentOf(archive: Buffer, directoryEntry: number): Buffer {
  const method = archive.readUInt16LE(directoryEntry + 10)
  const size = archive.readUInt32LE(directoryEntry + 20)
  const local = archive.readUInt32LE(directoryEntry + 42)
  const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
  const content = archive.subarray(start, start + size)
  return method === DEFLATED ? inflateRawSync(content) : content
}
