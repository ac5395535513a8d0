import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { writeRejects } from './rejects.ts'

let folder: string
let file: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  file = path.join(folder, 'rejects')
})
beforeEach(() => rm(file, { force: true }))
afterAll(() => rm(folder, { recursive: true }))

describe('the file of rejects', () => {
  it('is there once there is one', async () => {
    expect(await writeRejects(file, '', 0)).toBe(0)
    expect(await readdir(folder)).toEqual([])
    expect(await writeRejects(file, 'é\n', 0)).toBe(3)
    expect(await writeRejects(file, 'b\n', 3)).toBe(5)
    expect(await readFile(file, 'utf8')).toBe('é\nb\n')
  })

  it('loses what a run that was cut off has left behind the last chunk', async () => {
    await writeFile(file, 'kept\nleft behind\n')
    expect(await writeRejects(file, '', 5)).toBe(5)
    expect(await readFile(file, 'utf8')).toBe('kept\n')
    await writeFile(file, 'from another time\n')
    expect(await writeRejects(file, '', 0)).toBe(0)
    expect(await readdir(folder)).toEqual([])
  })

  it('begins anew where it was taken away', async () => {
    expect(await writeRejects(file, 'a\n', 1_000)).toBe(2)
    expect(await readFile(file, 'utf8')).toBe('a\n')
  })
})
