import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest specs, longest first. If one of them started last, the other workers would wait for it. */
const LONGEST: readonly string[] = [
  'conformance.e2e.spec.ts',
  'console.e2e.spec.ts',
  'faults.e2e.spec.ts',
  'erasure.e2e.spec.ts',
  'admission-races.e2e.spec.ts',
  'replay.e2e.spec.ts',
  'start.e2e.spec.ts',
  'queue-model.int.spec.ts',
  'parts.int.spec.ts',
  'workspace.int.spec.ts',
  'replay.int.spec.ts',
  'group-readers.int.spec.ts',
  'tenants.int.spec.ts',
  'projection-runner.int.spec.ts',
  'kept-refusals.int.spec.ts',
  'publisher.int.spec.ts',
  'segments.int.spec.ts',
  'halted-partition.int.spec.ts',
  'live-feed.int.spec.ts',
  'group-reader.int.spec.ts',
  'added-partitions.int.spec.ts',
  'dead-letters.int.spec.ts',
]

/** The order of spec files: vitest's own, after {@link LONGEST}. */
export class LongestFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- vitest's method
    const usual = await super.sort(specs)
    return usual.toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}`))
  return rank === -1 ? LONGEST.length : rank
}
