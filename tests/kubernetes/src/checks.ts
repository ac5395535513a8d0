/** Runs checks in order and counts them. */
export interface Checks {
  /** Runs a check, and prints a line about it. A failure ends its section, because later checks build on it. */
  readonly check: (what: string, run: () => Promise<unknown>) => Promise<void>
  readonly section: (title: string, run: () => Promise<void>) => Promise<void>
  readonly counts: () => { readonly passed: number; readonly failed: number }
}

/** Thrown after a failed check was printed. */
class SectionEnded extends Error {}

const LONGEST_LINES = 40

export function createChecks(): Checks {
  let passed = 0
  let failed = 0
  const fail = (what: string, error: unknown): void => {
    failed += 1
    console.log(`  ✗ ${what}`)
    const lines = (error instanceof Error ? error.message : String(error)).trim().split('\n')
    for (const line of lines.slice(0, LONGEST_LINES)) console.log(`      ${line}`)
  }
  return {
    check: async (what, run) => {
      const startedAt = performance.now()
      try {
        await run()
      } catch (error) {
        fail(what, error)
        throw new SectionEnded()
      }
      passed += 1
      const tookMs = performance.now() - startedAt
      console.log(`  ✓ ${what}${tookMs >= 1_000 ? ` (${(tookMs / 1_000).toFixed(0)} s)` : ''}`)
    },
    section: async (title, run) => {
      console.log(`\n${title}`)
      try {
        await run()
      } catch (error) {
        if (!(error instanceof SectionEnded)) fail('prepare the checks of this section', error)
        console.log('  - The later checks of this section were not made.')
      }
    },
    counts: () => ({ passed, failed }),
  }
}
