import { defineConfig } from 'vitest/config'
// oxlint-disable-next-line no-restricted-imports -- production code may not import it
import { LongestFirst } from '@nextvisit/testing/longest-first'

/** Returns the project of specs with this cost, the suffix of their file names. Unit specs need no external parts. */
function specs(cost: 'unit' | 'int' | 'e2e') {
  return {
    name: cost,
    include: [`{packages,services,tests,tools}/*/{src,web/src}/**/*.${cost}.spec.ts`],
  }
}

/**
 * Runs many files in one module graph per worker, because importing it for each file cost two thirds of the CPU. Module state
 * therefore survives from one file to the next. Node imports the modules itself, as in production, which costs less than
 * Vite's transformation, and uses the cache of compiled code. Therefore `vi.mock` does not exist.
 */
const sharedModules = { isolate: false, experimental: { viteModuleRunner: false, nodeLoader: false } } as const

/** One worker per core, because unit specs wait for nothing, and each worker imports most modules. */
const workerPerCore = { maxWorkers: 2 } as const

/** Uses more workers than cores, because int specs mostly wait for Kafka's groups and for timers. */
const manyWorkers = { maxWorkers: 6 } as const

/**
 * Asks a third as often as vitest does by default, because many conditions cost a query or a read of a topic. Waits longer than
 * its second, because a busy machine may need that for one query.
 */
const calmPolls = { expect: { poll: { interval: 150, timeout: 20_000 } } }

const partsForAll = { globalSetup: ['tests/testing/src/global-setup.ts'] }
const patientHooks = { hookTimeout: 120_000 }

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...specs('unit'), ...sharedModules, ...workerPerCore, testTimeout: 30_000 } },
      {
        test: {
          ...specs('int'),
          ...sharedModules,
          ...manyWorkers,
          ...partsForAll,
          ...patientHooks,
          ...calmPolls,
          testTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      // Each e2e spec starts a whole stack, so they run last. Two at a time leave the cores idle while both wait for Kafka,
      // sessions or processes; more than three starve each other on two cores.
      {
        test: {
          ...specs('e2e'),
          ...sharedModules,
          ...patientHooks,
          ...calmPolls,
          testTimeout: 180_000,
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
