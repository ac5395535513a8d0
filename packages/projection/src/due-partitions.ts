import type { CatalogView } from '@nextvisit/catalog'
import type { Db } from '@nextvisit/database'
import { findRetries } from './dead-letters.ts'
import type { Projection } from './projection.ts'

export interface DueQuestion {
  readonly topic: string
  readonly partitions: readonly number[]
  readonly instant: Date
  readonly catalog: CatalogView
}

/** Those of these partitions that a tick has something to do for: few questions, however many partitions are owned. */
export async function findDue<Fact, Draft>(
  { name, tick, due }: Projection<Fact, Draft>,
  db: Db,
  { topic, partitions, instant, catalog }: DueQuestion,
): Promise<ReadonlySet<number>> {
  if (partitions.length === 0) return new Set()
  const [late, timely] = await Promise.all([
    findRetries(db, { projection: name, topic }, partitions),
    due ? due(db, instant, { partitions, catalog }) : tick ? partitions : [],
  ])
  return new Set([...late, ...timely])
}
