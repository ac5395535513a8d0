import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { FaultResult } from './fault-result.ts'
import { openResultsFile } from './results-file.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
})
afterEach(() => rm(folder, { recursive: true }))

const result = (seed: number, fault: string, requests = 1): FaultResult => ({
  fault,
  family: 'kill',
  seed,
  requests,
  unknown: 0,
  needless: 0,
  longestMs: 0,
  recoveryMs: 0,
  atRestMs: 0,
  tookMs: 0,
  differences: [],
})

it('the results file keeps results for the next run, drops results of removed faults, and starts empty with isFresh', async () => {
  const file = path.join(folder, 'faults.json')
  const faults = ['one', 'other']
  const first = await openResultsFile(file, { faults, isFresh: false })
  await first.put(result(2, 'other'))
  await first.put(result(2, 'one'))
  await first.put(result(1, 'other'))
  await first.put(result(1, 'other', 7))

  const next = await openResultsFile(file, { faults, isFresh: false })
  expect(next.all()).toEqual([result(1, 'other', 7), result(2, 'one'), result(2, 'other')])
  expect(next.find(1, 'one')).toBeUndefined()
  expect(await readdir(folder), 'no temporary file is left').toEqual(['faults.json'])
  expect((await openResultsFile(file, { faults: ['one'], isFresh: false })).all()).toEqual([result(2, 'one')])
  expect((await openResultsFile(file, { faults, isFresh: true })).all()).toEqual([])
})
