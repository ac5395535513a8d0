import { crc32, deflateRawSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { readZipEntry } from './zip-entry.ts'

/** Builds an archive in the layout of `jar`: local headers with content, then the directory, then its end. */
function zip(files: Readonly<Record<string, { content: Buffer; method: 0 | 8 }>>, comment = ''): Buffer {
  const bodies: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, { content, method }] of Object.entries(files)) {
    const data = method === 8 ? deflateRawSync(content) : content
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(name.length, 26)
    local.writeUInt16LE(4, 28) // an extra field that is missing in the directory
    bodies.push(local, Buffer.from(name), Buffer.from('more'), data)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(method, 10)
    entry.writeUInt32LE(crc32(content), 16)
    entry.writeUInt32LE(data.length, 20)
    entry.writeUInt32LE(content.length, 24)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(offset, 42)
    directory.push(entry, Buffer.from(name))
    offset += 30 + name.length + 4 + data.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(offset, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...bodies, ...directory, end, Buffer.from(comment)])
}

describe('readZipEntry', () => {
  const content = Buffer.from('redis '.repeat(1_000))
  const archive = zip({
    'META-INF/MANIFEST.MF': { content: Buffer.from('a'), method: 0 },
    'redis-server': { content, method: 8 },
    stored: { content, method: 0 },
  })

  it('reads a deflated and a stored file', () => {
    expect(readZipEntry(archive, 'redis-server')).toEqual(content)
    expect(readZipEntry(archive, 'stored')).toEqual(content)
  })

  it('finds the directory before a comment', () => {
    expect(readZipEntry(zip({ one: { content, method: 8 } }, 'signed by nobody'), 'one')).toEqual(content)
  })

  it('returns undefined for an unknown file', () => {
    expect(readZipEntry(archive, 'redis-cli')).toBeUndefined()
  })

  it('refuses bytes that are not an archive', () => {
    expect(() => readZipEntry(Buffer.from('<html>not found</html>'), 'redis-server')).toThrow('Not a zip archive')
  })
})
