import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rejectOf, writeRejects } from './rejects.ts'

let folder: string
let file: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  file = path.join(folder, 'rejects')
})
beforeEach(() => rm(file, { force: true }))
afterAll(() => rm(folder, { recursive: true }))

describe('the file of rejects', () => {
  it('is created with the first reject', async () => {
    expect(await writeRejects(file, '', 0)).toBe(0)
    expect(await readdir(folder)).toEqual([])
    expect(await writeRejects(file, 'é\n', 0)).toBe(3)
    expect(await writeRejects(file, 'b\n', 3)).toBe(5)
    expect(await readFile(file, 'utf8')).toBe('é\nb\n')
  })

  it('drops entries that an interrupted run has written after the last chunk', async () => {
    await writeFile(file, 'kept\nleft behind\n')
    expect(await writeRejects(file, '', 5)).toBe(5)
    expect(await readFile(file, 'utf8')).toBe('kept\n')
    await writeFile(file, 'from another time\n')
    expect(await writeRejects(file, '', 0)).toBe(0)
    expect(await readdir(folder)).toEqual([])
  })

  it('names misspelt members, and keeps the line as it was', () => {
    expect(rejectOf({ number: 2, bytes: Buffer.from('{"usrName":"ada"}') }, 'userName is missing')).toEqual({
      line: 2,
      error: 'userName is missing; unknown member "usrName": did you mean userName?',
      original: '{"usrName":"ada"}',
    })
    expect(rejectOf({ number: 3, bytes: Buffer.from('{"a":1}{"b":2}') }, 'The line must be JSON').error).toBe(
      'The line must be JSON; the line has several objects: put each on a line of its own',
    )
    const notJson = rejectOf({ number: 7, bytes: Buffer.from('{"é\u2028') }, 'The line is not JSON')
    expect(notJson).toEqual({ line: 7, error: 'The line is not JSON', original: '{"é\u2028' })
  })

  it('starts over if it was removed', async () => {
    expect(await writeRejects(file, 'a\n', 1_000)).toBe(2)
    expect(await readFile(file, 'utf8')).toBe('a\n')
  })
})
