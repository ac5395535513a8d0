import path from 'node:path'
import { startVitest, type TestModule, type TestRunResult } from 'vitest/node'

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Maximum number of failed files to run again. A busy machine does not explain more failures. */
const MOST_RUN_AGAIN = 6

/**
 * Runs all specs, or the specs that the filters name. A failed int or e2e file runs again, alone and on new parts, because
 * a machine that stalls for seconds loses sessions and deadlines. The run reports each retry. A unit spec is not retried.
 */
export async function runSpecs(checkout: string, filters: readonly string[]): Promise<Counts> {
  const first = await run(checkout, filters)
  const again = runsAgain(first)
  const results = [without(first, again), ...(await runEachAgain(checkout, again))]
  return results.map(countsOf).reduce(sumOf, { passed: 0, failed: 0, skipped: 0 })
}

/** Runs vitest. Each run starts its own parts, and vitest has stopped them when it returns. */
async function run(checkout: string, filters: readonly string[]): Promise<TestRunResult> {
  const vitest = await startVitest('test', [...filters], {
    watch: false,
    root: checkout,
    silent: 'passed-only',
    reporters: ['default'],
  })
  await vitest.close()
  return { testModules: vitest.state.getTestModules(), unhandledErrors: vitest.state.getUnhandledErrors() }
}

function runsAgain(result: TestRunResult): readonly TestModule[] {
  const failed = result.testModules.filter((module) => !module.ok() || hasErrors(module, result))
  const mayRunAgain = failed.length <= MOST_RUN_AGAIN && failed.every(({ project }) => project.name !== 'unit')
  return mayRunAgain ? failed : []
}

async function runEachAgain(checkout: string, modules: readonly TestModule[]): Promise<TestRunResult[]> {
  // Only the last result of these files counts, so the first must not make the process fail.
  if (modules.length > 0) process.exitCode = 0
  const results: TestRunResult[] = []
  for (const { moduleId } of modules) {
    const name = path.relative(checkout, moduleId)
    console.log(`! Failed, runs again: ${name}`)
    const result = await run(checkout, [moduleId])
    if (countsOf(result).failed === 0) console.log(`! Passed in the second run: ${name}`)
    results.push(result)
  }
  return results
}

/** Returns the result without these modules and their errors. */
function without(result: TestRunResult, modules: readonly TestModule[]): TestRunResult {
  return {
    testModules: result.testModules.filter((module) => !modules.includes(module)),
    unhandledErrors: result.unhandledErrors.filter((error) => !modules.some((module) => isOf(module, error))),
  }
}

function hasErrors(module: TestModule, { unhandledErrors }: TestRunResult): boolean {
  return unhandledErrors.some((error) => isOf(module, error))
}

/** Returns true if the error belongs to the module. Vitest notes the running file in errors outside tests. */
function isOf({ moduleId }: TestModule, error: unknown): boolean {
  return (error as { VITEST_TEST_PATH?: string }).VITEST_TEST_PATH === moduleId
}

/** Counts the results. An unreadable spec file and an error outside tests count as failed tests. */
function countsOf({ testModules, unhandledErrors }: TestRunResult): Counts {
  const results = testModules.flatMap(resultsOf)
  const count = (state: string): number => results.filter((result) => result === state).length
  return {
    passed: count('passed'),
    failed: count('failed') + unhandledErrors.length,
    skipped: count('skipped') + count('pending'),
  }
}

function resultsOf(module: TestModule): string[] {
  const suites = [module, ...module.children.allSuites()]
  return [
    ...suites.flatMap((suite) => suite.errors().map(() => 'failed')),
    ...[...module.children.allTests()].map((test) => test.result().state),
  ]
}

function sumOf(one: Counts, other: Counts): Counts {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
  }
}
