import { beforeAll, describe, expect, it } from 'vitest'
import { ACCEPTED, type CaseRequest, sendersOf, type RequestOutcome, rejected } from './senders.ts'

/** Required parts of an answer. A message may be a matcher. */
interface Expected {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** A row of the contract: a request, and the answer of every route. */
export interface Case extends CaseRequest {
  readonly name: string
  /** Answer of the single admin route, of a batch and, without `bySdk`, of the SDK route. */
  readonly expected: Expected
  readonly bySdk?: Expected
  /**
   * Answer of Segment's routes. Default: accepted if the single route accepts it, otherwise refused with the same
   * status and message.
   */
  readonly bySegment?: Expected
}

/** Segment's names of members in messages. */
const MEMBERS = [
  [/^userName\b/, 'userId'],
  [/^eventName\b/, 'event'],
  [/^occurredAt\b/, 'timestamp'],
  [/^userAttributes(\.\$set)?\b/, 'traits'],
] as const

/** Returns cases with one expectation: a name and a value per row, from which `bodyOf` creates the body. */
export function casesOf(
  type: CaseRequest['type'],
  rows: readonly (readonly [name: string, value: unknown])[],
  bodyOf: (value: never) => object,
  expectation: Pick<Case, 'expected' | 'bySdk' | 'bySegment'>,
): readonly Case[] {
  return rows.map(([name, value]) => ({ name, type, body: bodyOf(value as never) as Case['body'], ...expectation }))
}

/** Returns the values as rows, named as JSON. */
export const rowsOf = (values: readonly unknown[]) => values.map((value) => [JSON.stringify(value), value] as const)

/**
 * Sends each case through each route: the admin route, the SDK route, a batch, and Segment's routes if they can express it.
 * A batch takes all cases at once, so a refused case must not affect others.
 */
export function describeCases(title: string, project: string, cases: readonly Case[]): void {
  const senders = sendersOf(project)

  describe(`${title}: each answer, through every route`, () => {
    let batched: readonly RequestOutcome[]
    let messages: readonly (RequestOutcome | undefined)[]
    beforeAll(async () => {
      ;[batched, messages] = await Promise.all([senders.batch(cases), senders.segmentBatch(cases)])
    })

    it.each(cases.map((given, index) => ({ ...given, index })))('$name: $expected.status', async (given) => {
      const { expected, bySdk, bySegment, index } = given
      const [single, sdk, segment] = await Promise.all([
        senders.single(given),
        senders.sdk(given),
        senders.segment(given),
      ])
      const batch = batched[index] as RequestOutcome
      const ofMessage = segment && (bySegment ?? inSegmentComWords(single))
      expect({ single, sdk, batch, segment, segmentBatch: messages[index] }).toMatchObject({
        single: expected,
        sdk: bySdk ?? expected,
        batch: expected,
        segment: ofMessage,
        segmentBatch: ofMessage,
      })
      expect(sharedOf(batch), 'a batch answers as the single route').toEqual(sharedOf(single))
      expect(sharedOf(sdk), 'the SDK route answers as the admin route').toMatchObject(bySdk ?? sharedOf(single))
    })
  })
}

/** Returns the common part of answers to the same body: without record ids, times and `newEvent`. */
function sharedOf({ status, body }: RequestOutcome): RequestOutcome {
  const { requestId: _id, occurredAt: _time, newEvent: _isFirst, ...shared } = body
  return { status, body: shared }
}

function inSegmentComWords({ status, body }: RequestOutcome): Expected {
  if (status < 400) return ACCEPTED
  const message = MEMBERS.reduce((text, [ours, theirs]) => text.replace(ours, theirs), String(body['message']))
  return rejected(status, message)
}
