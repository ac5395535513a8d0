import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest specs, longest first. If one of them started last, the other workers would wait for it. */
const LONGEST: readonly string[] = [
  'faults.e2e.spec.ts',
  'console.e2e.spec.ts',
  'conformance.e2e.spec.ts',
  // Before the longer replays: the worker that is free first then ends at the same time as the others.
  'admission-races.e2e.spec.ts',
  'replay.e2e.spec.ts',
  'upgrade.e2e.spec.ts',
  'erasure.e2e.spec.ts',
  'start.e2e.spec.ts',
  'user-eraser.int.spec.ts',
  'group-readers.int.spec.ts',
  'tenants.int.spec.ts',
  'erasures.int.spec.ts',
  'nextvisit-form.int.spec.ts',
  'hostile-batches.int.spec.ts',
  'kept-refusals.int.spec.ts',
  'projection-runner.int.spec.ts',
  'parts.int.spec.ts',
  'publisher.int.spec.ts',
  'replay.int.spec.ts',
  'workspace.int.spec.ts',
  'turns.int.spec.ts',
  'audit.int.spec.ts',
  'bad-configuration.int.spec.ts',
  'key-sweep.int.spec.ts',
  'user-keys.int.spec.ts',
  'held-room.int.spec.ts',
  'main.int.spec.ts',
  'answer-dead-letters.int.spec.ts',
  'changed-partitions.int.spec.ts',
  'compressed-batches.int.spec.ts',
  'live-feed.int.spec.ts',
  'published.int.spec.ts',
  'personal-statistics.int.spec.ts',
  'added-partitions.int.spec.ts',
  'halted-partition.int.spec.ts',
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
