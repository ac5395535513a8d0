import type { CatalogView, EndpointRef } from '@nextvisit/catalog'
import { LIVE_STREAM } from '@nextvisit/domain'
import type { Position } from '../draft.ts'
import { doubtfulOrganizations, type Endpoint, endpointKeyOf, endpointsOf, webhookOf } from '../endpoints.ts'
import type { DeliveryStreamOf } from '../new-deliveries.ts'
import type { Replay, Rows } from './read-rows.ts'

/** A position that reads on. */
export interface Behind extends DeliveryStreamOf {
  readonly position: Position
  /** Absent: the live stream. */
  readonly replay?: Replay
}

/** An endpoint that is gone, or was added again. */
export interface Removed extends EndpointRef {
  /** When it was added again. Absent: it is gone. */
  readonly addedAgainAt?: string
}

/** The work of a tick. */
export interface TickPlan {
  readonly removed: readonly Removed[]
  /** Endpoints without a position in the partition. */
  readonly added: readonly Endpoint[]
  /** Replays without a position in the partition. */
  readonly begun: readonly (Replay & { readonly addedAt: string })[]
  /** Live positions that stop. */
  readonly stopped: readonly Position[]
  /** Endpoints with failures that the workspace file disables. */
  readonly switchedOff: readonly EndpointRef[]
  readonly behind: readonly Behind[]
  /** Positions of replays that are forgotten. */
  readonly forgotten: readonly Position[]
  /** An endpoint cannot be removed yet. */
  readonly mustWait: boolean
}

/**
 * An endpoint that is missing in the catalog is removed if the catalog was current this long after it was added. A process whose catalog is
 * older than that of the process before it removes nothing.
 */
export const CLOCKS_DIFFER_BY_MS = 60_000

/** Compares the rows of a partition with the catalog. `asOfMs`: when the catalog was current, ms since the epoch. */
export function planTick(rows: Rows, catalog: CatalogView, asOfMs: number): TickPlan {
  const doubtful = doubtfulOrganizations(catalog)
  const removed = new Map<string, Removed>()
  const known = new Map<string, Position>()
  const [stopped, behind, forgotten]: [Position[], Behind[], Position[]] = [[], [], []]
  const replays = new Map(rows.replays.map((replay) => [replay.replayId, replay]))
  let mustWait = false

  function planPosition(position: Position): void {
    const { organization, project, endpointId, replayId, addedAt, isLive } = position
    const endpoint = { organization, project, endpointId }
    const webhook = webhookOf(catalog, endpoint)
    const isOther = webhook ? Math.sign(Date.parse(webhook.addedAt) - Date.parse(addedAt)) : 0
    if (webhook && isOther > 0) {
      removed.set(endpointKeyOf(endpoint), { ...endpoint, addedAgainAt: webhook.addedAt })
      return
    }
    if (!webhook && !doubtful.has(organization) && catalog.revision(organization) > 0) {
      if (Date.parse(addedAt) + CLOCKS_DIFFER_BY_MS < asOfMs) {
        removed.set(endpointKeyOf(endpoint), endpoint)
        return
      }
      mustWait = true
    }
    if (replayId === LIVE_STREAM) known.set(endpointKeyOf(endpoint), position)
    const isReading = webhook && isOther === 0 && !rows.isDisabled(endpoint, webhook)
    if (isLive && !isReading) stopped.push(position)
    if (isLive || !isReading) return
    const replay = replays.get(replayId)
    if (replayId !== LIVE_STREAM && !replay) forgotten.push(position)
    else behind.push({ ...endpoint, replayId, webhook, position, ...(replay && { replay }) })
  }

  for (const position of rows.positions) planPosition(position)
  const started = new Set(rows.positions.map(({ replayId }) => replayId))
  return {
    removed: [...removed.values()],
    added: endpointsOf(catalog).filter((endpoint) => {
      const key = endpointKeyOf(endpoint)
      return !known.has(key) && !removed.has(key)
    }),
    begun: rows.replays.flatMap((replay) => {
      const live = known.get(endpointKeyOf(replay))
      const webhook = webhookOf(catalog, replay)
      const isOfLive = live && webhook && Date.parse(live.addedAt) === Date.parse(webhook.addedAt)
      return isOfLive && !started.has(replay.replayId) ? { ...replay, addedAt: live.addedAt } : []
    }),
    stopped,
    switchedOff: rows.failing.filter((endpoint) => webhookOf(catalog, endpoint)?.enabled === false),
    behind,
    forgotten,
    mustWait,
  }
}
