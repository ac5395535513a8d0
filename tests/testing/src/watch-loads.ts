import type { AnyFact, Projection } from '@nextvisit/consumer'

/** Wraps a projection so that `see` gets each draft that it loads. */
export function watchLoads<Fact extends AnyFact, Draft>(
  projection: Projection<Fact, Draft>,
  see: (draft: Draft) => void,
): Projection<Fact, Draft> {
  return {
    ...projection,
    load: async (...parts) => {
      const draft = await projection.load(...parts)
      see(draft)
      return draft
    },
  }
}
