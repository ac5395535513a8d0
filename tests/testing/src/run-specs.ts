import path from 'node:path'
import { startVitest, type TestModule, type TestRunResult } from 'vitest/node'

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** More failed files than this are no bad luck of a busy machine. */
const MOST_RUN_AGAIN = 6

/**
 * Runs the specs, all or those that the filters name. An int or e2e file that failed runs once more, alone and on new parts
 * of its own: a machine that stalls for seconds loses sessions and deadlines. The run names each. A unit spec gets no second try.
 */
export async function runSpecs(checkout: string, filters: readonly string[]): Promise<Counts> {
  const first = await run(checkout, filters)
  const again = runsAgain(first)
  const results = [without(first, again), ...(await runEachAgain(checkout, again))]
  return results.map(countsOf).reduce(sumOf, { passed: 0, failed: 0, skipped: 0 })
}

/** Vitest has stopped the parts when this returns: each run starts its own. */
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
  // What is reported here is the last result of these files, so the first must no longer make the process fail.
  if (modules.length > 0) process.exitCode = 0
  const results: TestRunResult[] = []
  for (const { moduleId } of modules) {
    const name = path.relative(checkout, moduleId)
    console.log(`! Failed, and runs once more: ${name}`)
    const result = await run(checkout, [moduleId])
    if (countsOf(result).failed === 0) console.log(`! Passed only when it ran once more: ${name}`)
    results.push(result)
  }
  return results
}

/** The result without these modules and their errors. */
function without(result: TestRunResult, modules: readonly TestModule[]): TestRunResult {
  return {
    testModules: result.testModules.filter((module) => !modules.includes(module)),
    unhandledErrors: result.unhandledErrors.filter((error) => !modules.some((module) => isOf(module, error))),
  }
}

function hasErrors(module: TestModule, { unhandledErrors }: TestRunResult): boolean {
  return unhandledErrors.some((error) => isOf(module, error))
}

/** Vitest notes the file that ran while an error was thrown outside of any test. */
function isOf({ moduleId }: TestModule, error: unknown): boolean {
  return (error as { VITEST_TEST_PATH?: string }).VITEST_TEST_PATH === moduleId
}

/** An unreadable spec file and an error outside of any test count as failed tests. */
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
