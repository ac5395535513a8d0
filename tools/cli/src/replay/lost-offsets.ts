import type { LostOffsets } from '@nextvisit/contracts'
import type { Client } from '@nextvisit/database'

export function lostLine({ topic, partition, firstOffset, lastOffset }: LostOffsets): string {
  return `Offsets ${firstOffset} to ${lastOffset} of ${topic}/${partition} cannot be rebuilt: their batch cannot be decoded`
}

/** Position of a dead letter. */
export interface LetterPosition {
  readonly partition: number
  readonly offset: bigint
  /** Present in a dead letter that describes an undecodable batch: the last offset of the batch. */
  readonly lastOffset?: bigint
}

/** Reads the positions of the dead letters of a projection that are not folded: waiting and discarded ones, in order. */
export async function readUnfoldedLetters(
  client: Client,
  schema: string,
  { name, topic }: { readonly name: string; readonly topic: string },
): Promise<readonly LetterPosition[]> {
  // Postgres cannot read a member of `headers` if any has U+0000.
  const { rows } = await client.query<{ partition: number; offset: string; headers: string | null }>(
    `SELECT partition, "offset", CASE WHEN headers::text LIKE '%"omitted-offsets"%' THEN headers::text END AS headers
     FROM ${schema}.dead_letters WHERE projection = $1 AND topic = $2 AND state <> 'retried'
     ORDER BY partition, "offset"`,
    [name, topic],
  )
  return rows.map(({ partition, offset, headers }) => {
    const { 'omitted-offsets': offsets } = JSON.parse(headers ?? '{}') as Record<string, string>
    const [, last] = /^\d{1,18}-(\d{1,18})$/.exec(offsets ?? '') ?? []
    return { partition, offset: BigInt(offset), ...(last !== undefined && { lastOffset: BigInt(last) }) }
  })
}
