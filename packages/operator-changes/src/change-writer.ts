import { randomUUIDv7 } from 'node:crypto'
import {
  type ChangeEnded,
  type ChangeRequested,
  encodeRecord,
  MAX_CHANGE_LINES,
  MAX_CHANGE_TEXT,
  type OperatorChangeActor,
  type OperatorChangeDetails,
  TOPICS,
} from '@nextvisit/contracts'
import { uuidV5 } from '@nextvisit/domain'
import type { PublishOutcome, RecordToPublish } from '@nextvisit/log'
import type { WantedChange } from './wanted-change.ts'

/** The operator. `changeId`: of a change that goes on after an interruption. Default: a new one. */
export interface ChangeAuthor {
  readonly actor: OperatorChangeActor
  readonly changeId?: string | undefined
  /** A `performance.now()` instant after which nobody waits for the change. Default: none. */
  readonly deadlineAt?: number | undefined
}

export interface ChangeEnd {
  readonly outcome: ChangeEnded['outcome']
  /** Code of the refusal or error. */
  readonly reason?: string | undefined
  /** Added to those of the request. */
  readonly details?: OperatorChangeDetails | undefined
}

export type Recorded<Result> =
  | { readonly outcome: 'recorded'; readonly result: Result }
  /** The log cannot be written, so nothing was done. */
  | { readonly outcome: 'not-recorded' }

export interface ChangeWriter {
  /**
   * Makes changes together once all of them are in the log, and then writes the end of each. Rejects as `make` does. An end that
   * cannot be written is missing.
   */
  readonly record: <Result>(
    author: ChangeAuthor,
    wanted: readonly WantedChange[],
    make: () => Promise<Result>,
    endOf: (result: Result, nth: number) => ChangeEnd,
  ) => Promise<Recorded<Result>>
}

export interface ChangeWriterParts {
  /** Never rejects. `latestAt`: the deadline of the author, for a request. */
  readonly publish: (record: RecordToPublish, latestAt?: number) => Promise<PublishOutcome>
  /** The program, as in `ce_source`. */
  readonly source: 'gateway' | 'console' | 'cli'
  /** Default: `operator-changes`. */
  readonly topic?: string | undefined
  /** False: the result does not wait until the end is in the log. Default: true. */
  readonly isEndAwaited?: boolean
  /** Called for each end that may be missing in the log. */
  readonly onEndMissing?: (outcome: PublishOutcome['outcome']) => void
}

/** Creates the writer of changes: the one place where `operator-changes` is written. */
export function createChangeWriter({
  publish,
  source,
  topic = TOPICS.operatorChanges,
  isEndAwaited = true,
  onEndMissing = () => {},
}: ChangeWriterParts): ChangeWriter {
  function write(fact: ChangeRequested | ChangeEnded, latestAt?: number): Promise<PublishOutcome> {
    const { value, headers } = encodeRecord(fact, { source, time: fact.at })
    const key = fact.organization ?? ''
    return publish({ topic, partition: 0, key, value, headers }, latestAt)
  }

  async function writeEnds(requests: readonly WrittenRequest[], endOf: (nth: number) => ChangeEnd): Promise<void> {
    const written = requests.map(async (request, nth) => {
      const { outcome } = await write(endedFactOf(request, endOf(nth)))
      if (outcome !== 'published') onEndMissing(outcome)
    })
    const all = Promise.all(written)
    if (isEndAwaited) await all
    else all.catch(() => onEndMissing('unknown'))
  }

  return {
    record: async (author, wanted, make, endOf) => {
      const facts = wanted.map((change, nth) => requestedFactOf(author, change, nth))
      const outcomes = await Promise.all(facts.map((fact) => write(fact, author.deadlineAt)))
      const requests = facts.flatMap((fact, nth): readonly WrittenRequest[] => {
        const written = outcomes[nth]
        return written?.outcome === 'published' ? [{ fact, offset: written.offset }] : []
      })
      if (requests.length < facts.length) {
        await writeEnds(requests, () => ({ outcome: 'refused', reason: 'NOT_RECORDED' }))
        return { outcome: 'not-recorded' }
      }
      const result = await make().catch(async (error: unknown) => {
        await writeEnds(requests, () => ({ outcome: 'failed', reason: codeOf(error) }))
        throw error
      })
      await writeEnds(requests, (nth) => endOf(result, nth))
      return { outcome: 'recorded', result }
    },
  }
}

interface WrittenRequest {
  readonly fact: ChangeRequested
  readonly offset: bigint
}

function requestedFactOf(
  { actor, changeId }: ChangeAuthor,
  { lines, ...about }: WantedChange,
  nth: number,
): ChangeRequested {
  const shown = lines?.slice(0, MAX_CHANGE_LINES).map(cut)
  const cutLines = (lines?.length ?? 0) - (shown?.length ?? 0)
  return {
    type: 'ChangeRequested',
    id: changeId === undefined ? randomUUIDv7() : nth === 0 ? changeId : uuidV5(String(nth), changeId),
    at: new Date().toISOString(),
    ...boundedMembers({ ...about, actor }),
    ...(shown && { lines: shown }),
    ...(cutLines > 0 && { moreLines: cutLines }),
  }
}

function endedFactOf({ fact, offset }: WrittenRequest, { outcome, reason, details }: ChangeEnd): ChangeEnded {
  const { id: changeId, at: requestedAt, kind, actor, organization, project, target } = fact
  const about = { kind, actor, organization, project, target, details: { ...fact.details, ...details } }
  return {
    type: 'ChangeEnded',
    id: uuidV5('ended', changeId),
    changeId,
    requestOffset: String(offset),
    requestedAt,
    at: new Date().toISOString(),
    outcome,
    ...(reason !== undefined && { reason: cut(reason) }),
    ...boundedMembers(about),
  }
}

function boundedMembers({
  kind,
  actor,
  organization,
  project,
  target,
  details = {},
}: Omit<WantedChange, 'lines'> & { readonly actor: OperatorChangeActor }) {
  const bounded = Object.entries(details).map(([name, value]) => [name, typeof value === 'string' ? cut(value) : value])
  return {
    kind,
    actor: boundedActor(actor),
    ...(organization !== undefined && { organization }),
    ...(project !== undefined && { project }),
    ...(target !== undefined && { target: cut(target) }),
    ...(bounded.length > 0 && { details: Object.fromEntries(bounded) as OperatorChangeDetails }),
  }
}

function boundedActor({ via, subject, ...actor }: OperatorChangeActor): OperatorChangeActor {
  return {
    ...actor,
    name: cut(actor.name),
    ...(via !== undefined && { via: cut(via) }),
    ...(subject !== undefined && { subject: cut(subject) }),
  }
}

/** Cuts a text. No half of a surrogate pair remains, which readers would refuse. */
function cut(text: string): string {
  const whole = text.toWellFormed().replaceAll('\0', '\uFFFD')
  return whole.length <= MAX_CHANGE_TEXT
    ? whole
    : `${whole.slice(0, MAX_CHANGE_TEXT - 2).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** Returns the code of an error. A message may contain names of people. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNEXPECTED'
}
