import type { CatalogView } from '@nextvisit/catalog'
import { BatchTooLargeError, type FoldContext, type Recorded } from '@nextvisit/consumer'
import type { AnyFormFact } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { LIVE_STREAM, webhookEventOf } from '@nextvisit/domain'
import { type Draft, emptyDraft, type LiveStream, placeKeyOf, type Position } from './draft.ts'
import { doubtfulOrganizations, endpointKeyOf, isSameInstant, webhookOf } from './endpoints.ts'
import { positions } from './tables.ts'

/** Maximum deliveries that a batch may write. A project has up to 20 endpoints. */
const MAX_ROWS_A_COMMIT = 10_000
const BYTES_A_ROW = 1_000

interface LoadContext extends FoldContext {
  /** Returns false for a partition whose positions may be of endpoints that the catalog of this process does not have yet. */
  readonly isReviewed: (partition: number) => boolean
}

/** A dead letter that is retried may be for an endpoint that this process does not know. The letter is dead again. */
class EndpointUnknownError extends Error {
  override readonly name = 'EndpointUnknownError'
  readonly code = 'ENDPOINT_UNKNOWN'
  readonly retryable = false

  constructor(endpoint: string) {
    super(
      `This process does not know the webhook ${endpoint}, which may want the record: retry it once the process does`,
    )
  }
}

/**
 * Reads the streams of a batch's projects with one query. No query if no project of the batch has an endpoint and its partitions are
 * reviewed, and none in a rebuild, which writes nothing.
 */
export async function loadDraft(
  db: Db,
  records: readonly Recorded<AnyFormFact>[],
  { catalog, mode, isReviewed }: LoadContext,
): Promise<Draft> {
  const reporting = mode === 'rebuild' ? [] : reportingRecords(records, catalog, isReviewed)
  if (reporting.length === 0) return emptyDraft()
  const places = new Map(
    reporting.map(({ partition, fact: { organization, project } }) => {
      const place = { partition, organization, project, replayId: LIVE_STREAM }
      return [placeKeyOf(place), place]
    }),
  )
  const columns = ['organization', 'project', 'replayId', 'partition'] as const
  const found = await positions.select(db, sql`FROM ${positions.lookUp([...places.values()], { columns })}`)
  const known = found.flatMap((position) => streamOf(position, catalog) ?? [])
  const unknown = found.filter((position) => !streamOf(position, catalog))
  // Its place is after the record, and must not move back to it.
  if (mode === 'late' && unknown[0]) throw new EndpointUnknownError(endpointKeyOf(unknown[0]))
  const streams = Map.groupBy(known, placeKeyOf)
  requireFew(reporting, streams)
  return {
    ...emptyDraft(),
    createdAt: new Date().toISOString(),
    streams,
    left: leftBefore(
      records,
      unknown.filter(({ isLive }) => isLive),
    ),
  }
}

/** Throws if a batch may write too many deliveries for one commit: the core folds it in parts. One record always fits. */
function requireFew(records: readonly Recorded<AnyFormFact>[], streams: Draft['streams']): void {
  const rows = records.reduce((sum, { fact, partition }) => {
    return sum + (streams.get(placeKeyOf({ ...fact, partition }))?.length ?? 0)
  }, 0)
  if (rows > MAX_ROWS_A_COMMIT && records.length > 1)
    throw new BatchTooLargeError(rows * BYTES_A_ROW, MAX_ROWS_A_COMMIT * BYTES_A_ROW)
}

function reportingRecords(
  records: readonly Recorded<AnyFormFact>[],
  catalog: CatalogView,
  isReviewed: LoadContext['isReviewed'],
) {
  const doubtful = doubtfulOrganizations(catalog)
  return records.filter(({ fact, partition }) => {
    const { organization, project } = fact
    const webhooks = catalog.project(organization, project)?.config.webhooks ?? []
    const mayHaveEndpoint = webhooks.length > 0 || doubtful.has(organization) || !isReviewed(partition)
    return mayHaveEndpoint && webhookEventOf(fact) !== undefined
  })
}

/** Returns undefined for an endpoint that is not in the catalog, or is another one there. */
function streamOf(position: Position, catalog: CatalogView): (LiveStream & { readonly partition: number }) | undefined {
  const webhook = webhookOf(catalog, position)
  return webhook && isSameInstant(webhook.addedAt, position.addedAt) ? { ...position, webhook } : undefined
}

/**
 * Returns these positions before the first record of their partition. This process does not understand their endpoints, or has an older
 * catalog than the process before it, or the endpoints are removed: ticks find out.
 */
function leftBefore(records: readonly Recorded<AnyFormFact>[], found: readonly Position[]): readonly Position[] {
  return found.map((position) => {
    const first = records.find(({ partition }) => partition === position.partition)
    return { ...position, isLive: false, nextOffset: Number(first?.offset ?? position.nextOffset) }
  })
}
