import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLines } from './read-lines.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function linesOf(
  bytes: Buffer | string,
  maxBytes = 1_000_000,
  name = 'lines.ndjson',
  mayBeArray = false,
): Promise<[number, string][]> {
  const file = path.join(folder, name)
  await writeFile(file, bytes)
  const input = await openLines(file, { maxBytes, mayBeArray })
  const lines: [number, string][] = []
  for await (const line of input.lines()) lines.push([line.number, line.bytes.toString('utf8')])
  expect(input.share()).toBe(1)
  return lines
}

describe('the lines of a file', () => {
  it.each([
    ['truncated', gzipSync('a line\n'.repeat(1_000)).subarray(0, -12)],
    ['followed by something else', Buffer.concat([gzipSync('a line\n'), Buffer.from('b line\n')])],
    ['followed by zeros and more', Buffer.concat([gzipSync('a\n'), Buffer.alloc(100_000), gzipSync('b\n')])],
  ])('end with a remedy if its gzip is %s', async (_, bytes) => {
    await expect(linesOf(bytes, 1_000_000, 'spoilt.ndjson.gz')).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(/spoilt\.ndjson\.gz is truncated or damaged gzip \((?:Z_|data after its end)/),
    })
  })

  it('are read from gzip that zeros follow', async () => {
    expect(await linesOf(Buffer.concat([gzipSync('a\n'), Buffer.alloc(100_000)]), 10, 'padded.gz')).toEqual([[1, 'a']])
  })

  it('are read from a compressed file with any name, and from another one whose name ends in .gz', async () => {
    const wanted = [
      [1, 'a'],
      [2, 'b'],
    ]
    expect(await linesOf(gzipSync('a\nb'), 1_000_000, 'lines.json')).toEqual(wanted)
    expect(await linesOf(gzipSync('["a","b"]'), 1_000_000, 'array.json', true)).toHaveLength(2)
    expect(await linesOf('a\nb\n', 1_000_000, 'lines.json.gz')).toEqual(wanted)
    expect(await linesOf('', 1_000_000, 'empty.json.gz')).toEqual([])
  })

  it.each([
    ['little-endian', Buffer.from('\uFEFF{}\n', 'utf16le')],
    ['big-endian', Buffer.from('\uFEFF{}\n', 'utf16le').swap16()],
  ])('are not read from %s UTF-16, which can be converted', async (_, bytes) => {
    await expect(linesOf(bytes, 1_000_000, 'lines.json')).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('iconv -f UTF-16 -t UTF-8 lines.json > lines.utf8.json'),
    })
  })

  it('are the non-blank lines with their numbers, with any line end, and without byte order marks of joined files', async () => {
    expect(await linesOf('\uFEFFa\r\n\n   \nb\r\n\t \r\n\uFEFFc \n\uFEFF  ')).toEqual([
      [1, 'a'],
      [4, 'b'],
      [6, 'c '],
    ])
    expect(await linesOf('\uFEFF  \n')).toEqual([])
    expect(await linesOf('')).toEqual([])
    expect(await linesOf('\n')).toEqual([])
  })

  it('are the same in a compressed file, and across read buffers', async () => {
    const text = fc.array(
      fc.string({ unit: 'grapheme', maxLength: 20_000 }).filter((line) => !/[\r\n\uFEFF]|^[\t-\r ]+$/.test(line)),
    )
    await fc.assert(
      fc.asyncProperty(text, async (lines) => {
        const wanted = lines.flatMap((line, index) => (line === '' ? [] : [[index + 1, line]]))
        const bytes = Buffer.from(lines.join('\n'))
        expect(await linesOf(bytes)).toEqual(wanted)
        expect(await linesOf(gzipSync(bytes), 1_000_000, 'lines.ndjson.gz')).toEqual(wanted)
      }),
      { numRuns: 30 },
    )
  })

  it('are the items of a JSON array, if the format may be one', async () => {
    const text = '\uFEFF\n [{"a":1},\n {"b":2}]'
    const wanted = [
      [1, '{"a":1}'],
      [2, '\n {"b":2}'],
    ]
    expect(await linesOf(text, 1_000_000, 'lines.json', true)).toEqual(wanted)
    expect(await linesOf(gzipSync(text), 1_000_000, 'lines.json.gz', true)).toEqual(wanted)
    expect(await linesOf('[1]', 1_000_000, 'lines.json', false)).toEqual([[1, '[1]']])
    expect(await linesOf(' {"a":1}\n[1]', 1_000_000, 'lines.json', true)).toEqual([
      [1, ' {"a":1}'],
      [2, '[1]'],
    ])
  })

  it('are those of all files that were joined in one compressed file', async () => {
    const joined = Buffer.concat(['a\n', 'b\n', 'c\n'].map((text) => gzipSync(text)))
    expect(await linesOf(joined, 1_000_000, 'joined.gz')).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ])
  })

  it('are not read from an archive, whose files can be joined', async () => {
    for (const name of ['export.zip', 'export.json'])
      await expect(linesOf('PK\u0003\u0004…', 10, name)).rejects.toMatchObject({
        exitCode: 2,
        message: expect.stringContaining(`unzip -p ${name} '*.json.gz' > export.json.gz`),
      })
  })

  it('keep only enough of a long line to know that it is too long', async () => {
    const long = 'x'.repeat(300_000)
    expect(await linesOf(`a\n${long}\nb\n`, 10)).toEqual([
      [1, 'a'],
      [2, 'x'.repeat(11)],
      [3, 'b'],
    ])
  })
})
