import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { findPromtool } from './promtool.ts'
import { readDashboards } from './read-dashboards.ts'
import { MONITORING } from './read-rules.ts'

describe('promtool', { timeout: 120_000 }, () => {
  let promtool: string

  /** Runs promtool beside the rules. Returns its output, and fails with it. */
  async function run(...args: readonly string[]): Promise<string> {
    const { stdout, stderr } = await promisify(execFile)(promtool, args, { cwd: MONITORING }).catch(
      (error: { readonly stdout: string; readonly stderr: string }) => {
        throw new Error(`promtool ${args.join(' ')}\n${error.stdout}${error.stderr}`)
      },
    )
    return stdout + stderr
  }

  // Downloads it the first time.
  beforeAll(async () => {
    promtool = await findPromtool()
  }, 300_000)

  it('accepts the rules', async () => {
    expect(await run('check', 'rules', 'rules.yaml')).toContain('SUCCESS')
  })

  it('fires each alert in its fault, and none without a fault', async () => {
    expect(await run('test', 'rules', 'rules.test.yaml')).toContain('SUCCESS')
  })

  it('accepts the queries of the dashboards', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
    try {
      const queries = readDashboards().flatMap((dashboard) => dashboard.queries)
      const rules = queries.map(({ of, query }, index) => ({ record: `query:${index}`, expr: query, labels: { of } }))
      const file = path.join(folder, 'queries.yaml')
      await writeFile(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }))
      expect(await run('check', 'rules', file)).toContain(`SUCCESS: ${rules.length} rules found`)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
