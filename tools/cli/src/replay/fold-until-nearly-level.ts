import type { RebuildSource } from './rebuild-source.ts'
import { ReplayError } from './replay-error.ts'

/** Number of records that can be folded while the live folds wait. */
const NEARLY_LEVEL_RECORDS = 1_000
const MAX_ROUNDS = 30

/**
 * Folds until few records are left. The live rows change meanwhile, but each round is usually shorter than the previous one.
 * Throws a {@link ReplayError} after too many rounds.
 */
export async function foldUntilNearlyLevel(sources: readonly RebuildSource[]): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    for (const source of sources) await source.foldUp()
    const remaining = await Promise.all(sources.map((source) => source.remaining()))
    if (remaining.every((records) => records < NEARLY_LEVEL_RECORDS)) return
  }
  throw new ReplayError(
    'NOT_CAUGHT_UP',
    'The consumer folds as fast as the replay does, so the replay never caught up. Nothing was swapped. Run it again when fewer records arrive: it resumes.',
  )
}
