import { isDeepStrictEqual } from 'node:util'
import type {
  ChangeEnded,
  ChangeRequested,
  OperatorChangeActor,
  OperatorChangeDetails,
  OperatorChangeFact,
  OperatorChangeKind,
} from '@nextvisit/contracts'

/** A change as lists show it. */
export interface ListedChange {
  readonly changeId: string
  readonly requestedAt: string
  /** Null: not known. */
  readonly endedAt: string | null
  /** begun: it is being made, or the process ended before it could tell. */
  readonly outcome: 'begun' | ChangeEnded['outcome']
  readonly reason: string | null
  readonly kind: OperatorChangeKind
  readonly actor: OperatorChangeActor
  readonly organization: string | null
  readonly project: string | null
  readonly target: string | null
  readonly details: OperatorChangeDetails
  readonly lines: readonly string[]
  readonly moreLines: number
}

/** Filters a list of changes. An absent member matches every change. */
export interface ChangeFilter {
  readonly kind?: OperatorChangeKind | undefined
  /** A part of the name, in any case. */
  readonly actor?: string | undefined
  readonly organization?: string | undefined
  readonly project?: string | undefined
  /** The earliest request, ISO. */
  readonly since?: string | undefined
}

export interface ReadChange {
  readonly offset: bigint
  readonly fact: OperatorChangeFact
}

/** Records after a page in which the ends of its changes are looked for. */
export const LOOK_AHEAD = 1_000n

/**
 * Creates the fold of records into a list, newest first. A change is listed at the offset of its request, with its end. If more
 * than {@link LOOK_AHEAD} records lie between both, as of a long replay, the end is listed, too. Only the
 * request describes a change, and the first of several ends counts: no later record hides or rewrites a change.
 */
export function createChangesPage(filter: ChangeFilter = {}) {
  /** By change and offset of the request. */
  const ends = new Map<string, ChangeEnded>()
  /** The earliest listed request of each change. */
  const listed = new Map<string, ChangeRequested>()
  const changes: ListedChange[] = []

  function list(change: ListedChange): void {
    if (matches(filter, change)) changes.push(change)
  }

  return {
    changes: changes as readonly ListedChange[],
    /** Notes the ends in records that are newer than the page. */
    lookAhead: (read: readonly ReadChange[]): void => {
      for (const { fact } of read.toReversed()) if (fact.type === 'ChangeEnded') ends.set(endName(fact), fact)
    },
    /** Adds a record. They come newest first. */
    add: ({ offset, fact }: ReadChange): void => {
      if (fact.type === 'ChangeEnded') {
        const isFar = offset - BigInt(fact.requestOffset) > LOOK_AHEAD
        if (isFar && !ends.has(endName(fact))) list(endedChange(fact))
        ends.set(endName(fact), fact)
        return
      }
      const end = ends.get(endName({ changeId: fact.id, requestOffset: String(offset) }))
      const again = listed.get(fact.id)
      // It was interrupted, and the same goes on in the later request.
      if (!end && again && isDeepStrictEqual({ ...again, at: fact.at }, fact)) return
      listed.set(fact.id, fact)
      list(requestedChange(fact, end))
    },
  }
}

function requestedChange(request: ChangeRequested, end: ChangeEnded | undefined): ListedChange {
  const { lines = [], moreLines = 0 } = request
  return {
    changeId: request.id,
    requestedAt: request.at,
    endedAt: end?.at ?? null,
    outcome: end?.outcome ?? 'begun',
    reason: end?.reason ?? null,
    ...aboutOf(request),
    details: { ...request.details, ...end?.details },
    lines,
    moreLines,
  }
}

function endName({ changeId, requestOffset }: Pick<ChangeEnded, 'changeId' | 'requestOffset'>): string {
  return `${changeId} ${requestOffset}`
}

function endedChange(end: ChangeEnded): ListedChange {
  const { changeId, requestedAt, at: endedAt, outcome, reason = null } = end
  return { changeId, requestedAt, endedAt, outcome, reason, ...aboutOf(end), lines: [], moreLines: 0 }
}

function aboutOf({ kind, actor, organization, project, target, details }: OperatorChangeFact) {
  return {
    kind,
    actor,
    organization: organization ?? null,
    project: project ?? null,
    target: target ?? null,
    details: details ?? {},
  }
}

function matches(wanted: ChangeFilter, change: ListedChange): boolean {
  if (wanted.kind !== undefined && change.kind !== wanted.kind) return false
  if (wanted.organization !== undefined && change.organization !== wanted.organization) return false
  if (wanted.project !== undefined && change.project !== wanted.project) return false
  if (wanted.since !== undefined && change.requestedAt < wanted.since) return false
  return wanted.actor === undefined || change.actor.name.toLowerCase().includes(wanted.actor.toLowerCase())
}
