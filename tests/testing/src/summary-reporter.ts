import type { Reporter, TestModule } from 'vitest/node'

export interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** Counts the results of a run. An unreadable spec file and an error outside any test count as failed tests. */
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
    },
  }
}

function resultsOf(module: TestModule): string[] {
  const suites = [module, ...module.children.allSuites()]
  return [
    ...suites.flatMap((suite) => suite.errors().map(() => 'failed')),
    ...[...module.children.allTests()].map((test) => test.result().state),
  ]
}
