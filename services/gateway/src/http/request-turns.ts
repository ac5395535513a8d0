import type { IncomingMessage } from 'node:http'
import type { RouteSignature } from '@nextvisit/contracts'
import { type Refusal, REFUSALS, refuse } from '../api/refusals.ts'
import { createTurnsByKey } from './turns-by-key.ts'

/** Bodies up to this size need no turn. */
const SMALL_BODY_BYTES = 8_192
/** Bytes of larger bodies of one key that are worked on at once, some 600 events: docs/reference/performance.md, Batches. */
const LARGE_BODY_BYTES_AT_ONCE = 196_608

interface RequestTurnsOptions {
  /** How long a request waits for its turn. */
  readonly withinMs: { readonly read: number; readonly largeBody: number }
}

/** A request that was read, with the hash of its key. A read has no bytes. */
interface WaitingRequest {
  readonly request: IncomingMessage
  readonly keyHash: string
  readonly bytes: Uint8Array | undefined
}

/** Reads and large bodies need a turn. Browsers send one record at a time. */
export function needsTurn({ keyKind }: RouteSignature, bytes: Uint8Array | undefined): boolean {
  return bytes === undefined || (bytes.length > SMALL_BODY_BYTES && keyKind === 'admin')
}

/** Works on a few reads and large bodies of each key at once (decisions.md, Busy and broken). */
export function createRequestTurns({ withinMs }: RequestTurnsOptions) {
  const readInTurn = createTurnsByKey({ withinMs: withinMs.read })
  const largeBodyInTurn = createTurnsByKey({ withinMs: withinMs.largeBody, atOnce: LARGE_BODY_BYTES_AT_ONCE })

  return async <Result>(
    { request, keyHash, bytes }: WaitingRequest,
    work: () => Promise<Result>,
  ): Promise<Result | Refusal | { readonly outcome: 'aborted' }> => {
    // Whose caller left meanwhile is not begun: a repeat may be on its way.
    const begin = async () => (request.socket.destroyed ? ({ outcome: 'aborted' } as const) : work())
    const result = await (bytes ? largeBodyInTurn(keyHash, begin, bytes.length) : readInTurn(keyHash, begin))
    return result === 'crowded' ? refuse(REFUSALS.busy) : result
  }
}
