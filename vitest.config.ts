import { defineConfig } from 'vitest/config'
// oxlint-disable-next-line no-restricted-imports -- production code may not import it
import { LongestFirst } from '@nextvisit/testing/longest-first'

/** A spec's file name says what it costs; `vitest --project unit` runs what needs nothing. */
function specs(cost: 'unit' | 'int' | 'e2e') {
  return {
    name: cost,
    include: [`{packages,services,tests,tools}/*/src/**/*.${cost}.spec.ts`],
  }
}

/**
 * One worker runs many files in one module graph: importing it for each file cost two thirds of the CPU. So a module that
 * keeps state keeps it for the next file.
 */
const sharedModules = { isolate: false } as const

const realParts = { globalSetup: ['tests/testing/src/global-setup.ts'], hookTimeout: 120_000 }

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...specs('unit'), ...sharedModules, maxWorkers: 2, testTimeout: 30_000 } },
      /** Much of their time they wait. */
      {
        test: {
          ...specs('int'),
          ...sharedModules,
          ...realParts,
          maxWorkers: 3,
          testTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      /** Each brings up a whole stack: two at a time, after everything else. */
      {
        test: {
          ...specs('e2e'),
          ...realParts,
          maxWorkers: 2,
          testTimeout: 180_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
