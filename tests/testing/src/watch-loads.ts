import type { Projection } from '@nextvisit/consumer'

/** The same projection, but `see` gets each draft that it loads. */
export function watchLoads<Fact, Draft>(
  projection: Projection<Fact, Draft>,
  see: (draft: Draft) => void,
): Projection<Fact, Draft> {
  const { load } = projection
  if (!load) throw new Error(`${projection.name} loads nothing.`)
  return {
    ...projection,
    load: async (...parts) => {
      const draft = await load(...parts)
      see(draft)
      return draft
    },
  }
}
