import { type Recorded, requireFits } from '@nextvisit/consumer'
import type { AnyFormFact } from '@nextvisit/contracts'
import { type Db, type RowOf, sql } from '@nextvisit/database'
import { type Draft, offerKeyOf } from './draft.ts'
import { type CountedValue, MAX_ANSWER_BYTES, type Offer } from './offer.ts'
import { offers } from './tables.ts'

/** Loads the offers that records name. Throws `BatchTooLargeError` if their answers are too long for one commit. */
export async function loadDraft(db: Db, records: readonly Recorded<AnyFormFact>[]): Promise<Draft> {
  const named = new Map(records.flatMap(({ fact }) => namedBy(fact)).map((key) => [offerKeyOf(key), key]))
  const draft = { changed: new Map(), steps: [], times: [], erased: [], ignoredSteps: 0 }
  if (named.size === 0) return { ...draft, stored: new Map() }
  const asked = [...named.values()]
  await requireFits(db, {
    records: records.length,
    eventBytes: 0,
    maxTraitBytes: asked.length * MAX_ANSWER_BYTES,
    fromUsers: () => sql`(SELECT answer_bytes AS trait_bytes FROM ${offers.lookUp(asked)}) AS measured`,
  })
  const rows = await offers.selectByKeys(db, asked)
  return { ...draft, stored: new Map(rows.map((row) => [offerKeyOf(row), offerOfRow(row)])) }
}

/** Returns the key of the offer that a fact may change. */
function namedBy(fact: AnyFormFact): readonly Pick<Offer, 'organization' | 'project' | 'userId' | 'id'>[] {
  if (!('queuedId' in fact) || fact.type === 'FormCancelled') return []
  if (fact.type === 'FormAnswered' && fact.outcome !== 'recorded') return []
  const { organization, project, userId, queuedId: id } = fact
  return [{ organization, project, userId, id }]
}

function offerOfRow({ counted, ...row }: RowOf<typeof offers>): Offer {
  return { ...row, counted: JSON.parse(counted) as CountedValue[] }
}
