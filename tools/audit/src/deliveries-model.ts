import { type Fence, type Fences, keyTimeMs } from './erasures.ts'
import { type DecidedFact, isSegmentFact, type ProjectRef, userKey, type UserRef } from './facts.ts'
import type { Findings } from './findings.ts'
import { OF_RANGE, type UserRange } from './model.ts'
import type { Snapshot } from './snapshot.ts'
import type { WebhookEndpoint } from './webhook-endpoints.ts'

/** The part of an endpoint's live stream, or of a replay, that a partition has read. */
interface PositionRow extends ProjectRef {
  readonly endpointId: string
  readonly replayId: string
  readonly partition: number
  readonly addedAt: string
  readonly nextOffset: number
  readonly isLive: boolean
  /** Of a replay: where it began, the times of its records, and its events; null: those of the endpoint. */
  readonly beginOffset: number | null
  readonly fromAt: string | null
  readonly toAt: string | null
  readonly events: readonly string[] | null
  readonly requestedAt: string | null
}

interface DeliveryRow extends UserRef {
  readonly endpointId: string
  readonly replayId: string
  readonly partition: number
  readonly sourceOffset: number
  readonly causeOffset: number | null
  readonly webhookId: string
  readonly type: string
  readonly at: string
  readonly body: string
}

interface DeliveriesOptions {
  readonly snapshot: Snapshot
  /** The fences of `form-events`. */
  readonly fences: Fences
  readonly findEndpoint: (project: ProjectRef, id: string) => WebhookEndpoint | undefined
  readonly nowMs: number
}

/** A record and its place. */
interface PlacedFact {
  readonly fact: DecidedFact
  readonly partition: number
  readonly offset: bigint
  readonly timestampMs: number
}

interface Expected extends PlacedFact {
  /** Of the replay; null: the delivery is of the live stream. */
  readonly requestedAt: string | null
}

/** The copies of a record in the log. */
interface Reported {
  readonly fact: DecidedFact
  readonly copies: Copy[]
}

interface Copy {
  readonly partition: number
  readonly offset: bigint
  readonly isErased: boolean
  /** It is or was a dead letter, so a later copy may have been folded before it. */
  readonly isDead: boolean
}

const LIVE = '00000000-0000-0000-0000-000000000000'
/** Deliveries are deleted 30 days after their end. Clocks differ by less than an hour. */
const KEPT_MS = 30 * 86_400_000 - 3_600_000

/** Compares the deliveries of webhooks with the records that they report. */
export async function createDeliveriesModel({ snapshot, fences, findEndpoint, nowMs }: DeliveriesOptions) {
  const { checkpoints, rows } = snapshot
  const positions = Map.groupBy(await readAllRows(rows<PositionRow>(POSITIONS)), placeOf)
  /** The latest time of a record so far, by partition: an endpoint begins with the first record since it was added. */
  const latestMs = new Map<number, number>()
  const reported = new Map<string, Reported>()
  const expected = new Map<string, Expected>()
  const replays = new Map<string, PositionRow>()
  for (const own of positions.values())
    for (const position of own)
      if (position.replayId !== LIVE) replays.set(`${position.replayId}/${position.partition}`, position)

  const isPassed = ({ partition, offset }: Fence): boolean => offset < (checkpoints.get(partition) ?? 0n)

  /** Returns false if the delivery may have ended so long ago that it is deleted. */
  const isKept = ({ timestampMs, requestedAt }: Expected): boolean =>
    (requestedAt === null ? timestampMs : Date.parse(requestedAt)) >= nowMs - KEPT_MS

  function expect(placed: PlacedFact, event: string): void {
    const { fact, partition, offset } = placed
    for (const position of positions.get(placeOf({ ...fact, partition })) ?? []) {
      const { endpointId, replayId, addedAt, requestedAt } = position
      const endpoint = findEndpoint(fact, endpointId)
      if (!endpoint?.isCertain || Date.parse(endpoint.addedAt) !== Date.parse(addedAt)) continue
      const isRead =
        replayId === LIVE
          ? (position.isLive || offset < position.nextOffset) && (latestMs.get(partition) ?? 0) >= Date.parse(addedAt)
          : isInReplay(position, { at: fact.at, offset })
      const isWanted = position.events ? position.events.includes(event) : endpoint.events?.has(event) !== false
      if (!isRead || !isWanted) continue
      const key = `${keyOf(fact, fact.id, event)}/${replayId}/${endpointId}`
      // The dispatcher writes the delivery of a record once, in the place of its first copy.
      if (!expected.has(key)) expected.set(key, { ...placed, requestedAt })
    }
  }

  return {
    /** Notes any record, in the order of its partition. */
    see: (partition: number, timestampMs: number): void => {
      latestMs.set(partition, Math.max(timestampMs, latestMs.get(partition) ?? 0))
    },

    /** Folds a record of a user of this pass. `isDead`: it is or was a dead letter. */
    fold: (placed: PlacedFact, isDead: boolean): void => {
      const { fact, partition, offset } = placed
      const event = eventOf(fact)
      if (event === undefined) return
      const isErased = fences.ofUser(userKey(fact)).some((fence) => isPassed(fence) && covers(fence, placed))
      const key = keyOf(fact, fact.id, event)
      const known = reported.get(key) ?? { fact, copies: [] }
      known.copies.push({ partition, offset, isErased, isDead })
      reported.set(key, known)
      if (!isErased && !isDead) expect(placed, event)
    },

    /** Compares the deliveries of the users of this pass, and drops them. */
    compareUsers: async ({ first, last }: UserRange, findings: Findings): Promise<void> => {
      for await (const row of rows<DeliveryRow>(DELIVERIES, [first, last])) {
        const about = `${row.organization}/${row.project}/${row.endpointId} ${row.webhookId}`
        const record = reported.get(keyOf(row, row.webhookId, row.type))
        const key = `${keyOf(row, row.webhookId, row.type)}/${row.replayId}/${row.endpointId}`
        const copy = expected.get(key)
        const says = wrongIn(row, record, {
          first: copy && isKept(copy) ? copy : undefined,
          replay: replays.get(`${row.replayId}/${row.partition}`),
        })
        if (says !== undefined) findings.add(`webhooks.deliveries: ${says[0]}`, about, says[1])
        expected.delete(key)
      }
      for (const [key, placed] of expected) {
        if (!isKept(placed)) continue
        const { fact, partition, offset } = placed
        const about = `${fact.organization}/${fact.project}/${key.split('/').at(-1)} ${fact.id}`
        findings.add('webhooks.deliveries: missing', about, `is missing, but ${partition}/${offset} accounts for it`)
      }
      for (const each of [reported, expected, latestMs]) each.clear()
    },

    /** Compares what belongs to no user. */
    compareShared: async (findings: Findings): Promise<void> => {
      for await (const { about } of rows<{ readonly about: string }>(OF_ANOTHER_BODY))
        findings.add('webhooks.deliveries: body of a replay', about, 'differs from that of the first delivery')
      for await (const { about } of rows<{ readonly about: string }>(WITHOUT_TURN)) {
        findings.add('webhooks.turns: missing', about, 'has a pending delivery that nobody will send')
      }
    },
  }
}

interface Wanted {
  /** The copy in whose place the delivery must be. undefined: any. */
  readonly first: PlacedFact | undefined
  /** The part of its replay in its partition. undefined: it is of none, or of a replay that is deleted. */
  readonly replay: PositionRow | undefined
}

/** Returns the name and the text of a finding about a delivery. */
function wrongIn(
  row: DeliveryRow,
  record: Reported | undefined,
  { first, replay }: Wanted,
): readonly [string, string] | undefined {
  if (!record) return ['not in the log', 'exists, but no record accounts for it']
  const { fact, copies } = record
  const copy = copies.find((one) => one.partition === row.partition && one.offset === BigInt(row.sourceOffset))
  if (!copy) return ['sourceOffset', `${row.partition}/${row.sourceOffset} is another record`]
  if (first && !copy.isDead && copy.offset !== first.offset)
    return ['place', `${row.partition}/${row.sourceOffset} repeats the record ${first.partition}/${first.offset}`]
  if (replay && !isInReplay(replay, { at: fact.at, offset: copy.offset }))
    return [
      'replay',
      `${fact.at} at ${row.partition}/${row.sourceOffset} is not a record of the replay ${row.replayId}`,
    ]
  if (copy.isErased) return ['not erased', 'exists, although its user was erased']
  if (Date.parse(row.at) !== Date.parse(fact.at)) return ['at', `${row.at} instead of ${fact.at}`]
  const causeOffset = 'causeOffset' in fact ? (fact.causeOffset ?? null) : null
  if (row.causeOffset !== causeOffset) return ['causeOffset', `${row.causeOffset} instead of ${causeOffset}`]
  return isBodyOf(row, fact) ? undefined : ['body', 'is not about its record']
}

/** Returns true for a record in the part of a replay that its partition has read. */
function isInReplay(
  { beginOffset, nextOffset, fromAt, toAt }: PositionRow,
  { at, offset }: { readonly at: string; readonly offset: bigint },
): boolean {
  if (fromAt === null || toAt === null || offset < (beginOffset ?? 0) || offset >= nextOffset) return false
  return Date.parse(at) >= Date.parse(fromAt) && Date.parse(at) < Date.parse(toAt)
}

/** Compares the members that every body has. */
function isBodyOf({ body, type }: DeliveryRow, { organization, project, userId, at }: DecidedFact): boolean {
  const payload = JSON.parse(body) as { type?: string; timestamp?: string; data?: Partial<UserRef> }
  const { data = {} } = payload
  return (
    payload.type === type &&
    payload.timestamp === at &&
    data.organization === organization &&
    data.project === project &&
    data.userId === userId
  )
}

function keyOf(user: UserRef, webhookId: string, event: string): string {
  return `${userKey(user)}/${webhookId}/${event}`
}

function placeOf({ organization, project, partition }: ProjectRef & { readonly partition: number }): string {
  return `${organization}/${project}/${partition}`
}

/** Returns the event that a record reports. */
function eventOf(fact: DecidedFact): string | undefined {
  if (fact.type !== 'FormAnswered') return EVENTS[fact.type]
  if (fact.outcome !== 'recorded' || fact.status === 'partial') return undefined
  return fact.status === 'finished' ? 'form.answered' : 'form.dismissed'
}

const EVENTS: Readonly<Record<Exclude<DecidedFact['type'], 'FormAnswered'>, string | undefined>> = {
  FormQueued: 'form.queued',
  FormDelivered: 'form.delivered',
  FormExpired: 'form.expired',
  FormCancelled: undefined,
  SegmentEntered: 'user.entered_segment',
  SegmentLeft: 'user.left_segment',
  QueueErased: 'user.erased',
}

/** Returns whether an erasure covers a record. It never covers an erasure. */
function covers({ offset: fence, keysUntilMs, fact: erasure }: Fence, { fact, offset }: PlacedFact): boolean {
  if (fact.type === 'QueueErased') return false
  const cause = 'causeOffset' in erasure ? erasure.causeOffset : undefined
  if (isSegmentFact(fact) && cause !== undefined) return fact.causeOffset < cause
  if (offset < fence) return true
  // An answer without answers may have none.
  const { sealed } = fact as { readonly sealed?: { readonly key: string } }
  if (sealed !== undefined && keyTimeMs(sealed.key) <= keysUntilMs) return true
  return (fact.causeOffset ?? Infinity) < (cause ?? -Infinity)
}

async function readAllRows<Row>(rows: AsyncIterable<Row>): Promise<readonly Row[]> {
  const all: Row[] = []
  for await (const row of rows) all.push(row)
  return all
}

/** A replay that is deleted, or about to be, counts as none. */
const POSITIONS = `
  SELECT organization, project, endpoint_id AS "endpointId", replay_id AS "replayId", partition, added_at AS "addedAt",
    begin_offset AS "beginOffset", next_offset AS "nextOffset", is_live AS "isLive", from_at AS "fromAt", to_at AS "toAt", events,
    requested_at AS "requestedAt"
  FROM positions LEFT JOIN replays USING (organization, project, endpoint_id, replay_id)
  WHERE replay_id = '${LIVE}' OR requested_at IS NOT NULL`

const DELIVERIES = `
  SELECT organization, project, user_id AS "userId", endpoint_id AS "endpointId", replay_id AS "replayId", partition,
    source_offset AS "sourceOffset", cause_offset AS "causeOffset", webhook_id AS "webhookId", type, at, body
  FROM deliveries ${OF_RANGE} AND type <> 'webhook.test'`

/** Bodies that are not complete yet are not compared. */
const OF_ANOTHER_BODY = `
  SELECT own.organization || '/' || own.project || '/' || own.endpoint_id || ' ' || own.webhook_id AS about
  FROM deliveries AS own JOIN deliveries AS first USING (organization, project, endpoint_id, user_id, webhook_id, type)
  WHERE own.replay_id <> '${LIVE}' AND first.replay_id = '${LIVE}' AND own.capture = '{}' AND first.capture = '{}'
    AND own.body <> first.body`

const WITHOUT_TURN = `
  SELECT DISTINCT organization || '/' || project || '/' || endpoint_id || ' ' || user_id AS about FROM deliveries AS own
  WHERE status = 'pending' AND NOT EXISTS (
    SELECT FROM turns
    WHERE (turns.organization, turns.project, turns.user_id, turns.endpoint_id, turns.replay_id)
        = (own.organization, own.project, own.user_id, own.endpoint_id, own.replay_id))`
