import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const MAX_OUTPUT_BYTES = 16 * 1024 * 1024
const PROGRAM = path.join(import.meta.dirname, '../../test/small-batches.fixture.ts')

it('small batches after a backlog leave no garbage to major collections (performance.md, Memory)', async () => {
  const flags = ['--max-semi-space-size=1', '--expose-gc', '--trace-gc-nvp']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, PROGRAM], { maxBuffer: MAX_OUTPUT_BYTES })
  const afterBacklog = stdout.slice(stdout.indexOf('small batches'))
  expect(afterBacklog.match(/ gc=mc /g) ?? [], 'large collections').toHaveLength(0)
  expect(afterBacklog.match(/ gc=s /g)?.length, 'small collections').toBeGreaterThan(50)
})
