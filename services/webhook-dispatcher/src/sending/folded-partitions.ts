interface FoldedPartitionsParts {
  /** Returns the log's end of each partition. */
  readonly readEnds: () => Promise<ReadonlyMap<number, bigint>>
  /** Returns the checkpoint of each partition that has one. */
  readonly readFolded: () => Promise<ReadonlyMap<number, bigint>>
}

/**
 * Creates a function that returns those of the owned partitions that have folded all records that were in the log when this process
 * got them. Before, their rows may be about users who are erased: the dispatcher was stopped, or the database is restored.
 */
export function createFoldedPartitions({ readEnds, readFolded }: FoldedPartitionsParts) {
  /** Of each owned partition, the log's end then; undefined: it has folded everything. */
  const ends = new Map<number, bigint | undefined>()

  return async (owned: readonly number[]): Promise<readonly number[]> => {
    for (const partition of ends.keys()) if (!owned.includes(partition)) ends.delete(partition)
    const added = owned.filter((partition) => !ends.has(partition))
    if (added.length > 0) {
      const found = await readEnds()
      for (const partition of added) ends.set(partition, found.get(partition) ?? 0n)
    }
    const waiting = owned.filter((partition) => ends.get(partition) !== undefined)
    if (waiting.length === 0) return owned
    const folded = await readFolded()
    for (const partition of waiting)
      if ((folded.get(partition) ?? 0n) >= (ends.get(partition) ?? 0n)) ends.set(partition, undefined)
    return owned.filter((partition) => ends.get(partition) === undefined)
  }
}
