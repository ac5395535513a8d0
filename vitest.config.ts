import { defineConfig } from 'vitest/config'
// oxlint-disable-next-line no-restricted-imports -- production code may not import it
import { LongestFirst } from '@nextvisit/testing/longest-first'

/** A spec's file name says what it costs; `vitest --project unit` runs what needs nothing. */
function specs(cost: 'unit' | 'int' | 'e2e') {
  return {
    name: cost,
    include: [`{packages,services,tests,tools}/*/{src,web/src}/**/*.${cost}.spec.ts`],
  }
}

/**
 * One worker runs many files in one module graph: importing it for each file cost two thirds of the CPU. So a module that
 * keeps state keeps it for the next file.
 */
const sharedModules = { isolate: false } as const

/** Int specs wait for Kafka's groups and timers most of the time, the longest ones all at once: more workers than cores work meanwhile. */
const manyWorkers = { maxWorkers: 6 } as const

const partsForAll = { globalSetup: ['tests/testing/src/global-setup.ts'] }
const patientHooks = { hookTimeout: 120_000 }

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...specs('unit'), ...sharedModules, ...manyWorkers, testTimeout: 30_000 } },
      { test: { ...specs('int'), ...sharedModules, ...manyWorkers, ...partsForAll, ...patientHooks, testTimeout: 60_000 } },
      /** Each brings up a whole stack of its own: after everything else. Three at a time starve each other on two cores. */
      {
        test: {
          ...specs('e2e'),
          ...sharedModules,
          ...patientHooks,
          testTimeout: 180_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
