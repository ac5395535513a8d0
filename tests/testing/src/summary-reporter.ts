import type { Reporter, TestCase, TestModule } from 'vitest/node'

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Counts the results of a run, and names what passed only when tried again. An unreadable spec file and an error outside any test count as failed tests. */
export function createSummaryReporter(): Reporter & { readonly counts: () => Counts } {
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 }
  return {
    counts: () => counts,
    onTestRunEnd: (modules, unhandledErrors) => {
      const results = modules.flatMap(resultsOf)
      const count = (state: string): number => results.filter((result) => result === state).length
      counts = {
        passed: count('passed'),
        failed: count('failed') + unhandledErrors.length,
        skipped: count('skipped') + count('pending'),
      }
      for (const { fullName } of modules.flatMap((module) => [...module.children.allTests()]).filter(isFlaky))
        console.log(`! Passed only when it was tried again: ${fullName}`)
    },
  }
}

function isFlaky(test: TestCase): boolean {
  return test.diagnostic()?.flaky ?? false
}

function resultsOf(module: TestModule): string[] {
  const suites = [module, ...module.children.allSuites()]
  return [
    ...suites.flatMap((suite) => suite.errors().map(() => 'failed')),
    ...[...module.children.allTests()].map((test) => test.result().state),
  ]
}
