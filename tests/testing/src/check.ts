/** `pnpm test`: runs every check and every spec. Arguments filter the specs, as in vitest. */
import { execFile } from 'node:child_process'
import { constants, getPriority, setPriority } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { collectLessInGo, keepCompiledCode } from './config.ts'
import { type Counts, runSpecs } from './run-specs.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../../..')
/** Time limit that detects a hanging run. A run on two idle cores takes a quarter of it; a busy machine takes longer. */
const WITHIN_MS = 60 * 60_000
/** Priority of checks, so that they take no CPU time from specs with deadlines. Only root may raise a priority. */
const LOW = Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL)
const tool = (name: string): string => path.join(CHECKOUT, 'node_modules/.bin', name)

interface Check {
  readonly name: string
  readonly command: readonly [string, ...string[]]
}

/** Each check counts as one test. The specs need what these generate, so these come first. */
const GENERATED: readonly Check[] = [
  { name: 'Prisma clients', command: [process.execPath, 'packages/database/scripts/generate-clients.ts'] },
  { name: 'Console pages', command: [process.execPath, 'services/console/scripts/build-web.ts'] },
]

/** These run one after the other beside the specs, and get the CPU time that specs leave while they wait. */
const CHECKED_BESIDE: readonly Check[] = [
  { name: 'Format', command: [tool('biome'), 'format'] },
  { name: 'Lint', command: [tool('oxlint'), '--type-aware', '--deny-warnings'] },
  // Several checkers check many files twice. The others would only save time, and this one has the time of the specs.
  { name: 'Types', command: [tool('tsc'), '--noEmit', '-p', 'tsconfig.base.json', '--checkers', '1'] },
  { name: 'Types of the web', command: [tool('tsc'), '--noEmit', '-p', 'packages/web'] },
  { name: 'Types of forms', command: [tool('tsc'), '--noEmit', '-p', 'packages/web-form'] },
  { name: 'Types of the console', command: [tool('tsc'), '--noEmit', '-p', 'services/console/web'] },
]

async function passes({ name, command: [file, ...args] }: Check): Promise<boolean> {
  const startedAt = performance.now()
  const report = (mark: string): void =>
    console.log(`${mark} ${name.padEnd(16)} ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  try {
    const running = promisify(execFile)(file, args, { cwd: CHECKOUT, maxBuffer: 64 * 2 ** 20 })
    if (running.child.pid !== undefined) setPriority(running.child.pid, LOW)
    await running
    report('✓')
    return true
  } catch (error) {
    report('✗')
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string }
    console.log(`${stdout}${stderr}`.trim() || message)
    return false
  }
}

/** Runs checks, one after the other. Resolves to the names of those that failed. */
async function failuresOf(checks: readonly Check[]): Promise<readonly string[]> {
  const failed: string[] = []
  for (const check of checks) if (!(await passes(check))) failed.push(check.name)
  return failed
}

async function specsPass(filters: readonly string[]): Promise<Counts> {
  const counts = await runSpecs(CHECKOUT, filters).catch((error: unknown) => {
    console.error(error)
    return { passed: 0, failed: 0, skipped: 0 }
  })
  const isSilent = counts.passed + counts.failed === 0
  if (isSilent) console.log('✗ No spec ran.')
  return isSilent || (process.exitCode && counts.failed === 0) ? { ...counts, failed: counts.failed + 1 } : counts
}

function conclude({ passed, failed, skipped }: Counts): never {
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exit(failed > 0 ? 1 : 0)
}

keepCompiledCode(path.join(CHECKOUT, 'node_modules/.cache/node'))
collectLessInGo()
const overdue = setTimeout(() => {
  console.log(`✗ Not finished within ${WITHIN_MS / 60_000} minutes.`)
  conclude({ passed: 0, failed: 1, skipped: 0 })
}, WITHIN_MS)

const notGenerated = await failuresOf(GENERATED)
const [failedBeside, specs] = await Promise.all([failuresOf(CHECKED_BESIDE), specsPass(process.argv.slice(2))])
clearTimeout(overdue)
const failed = [...notGenerated, ...failedBeside]
// Again, because the output of the specs follows that of a check.
for (const name of failed) console.log(`✗ Failed: ${name}`)
const passed = GENERATED.length + CHECKED_BESIDE.length - failed.length
conclude({ passed: passed + specs.passed, failed: failed.length + specs.failed, skipped: specs.skipped })
