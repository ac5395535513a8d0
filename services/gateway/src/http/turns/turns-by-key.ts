import type { IncomingMessage } from 'node:http'
import { type Refusal, REFUSALS, refuse } from '../../refusals/refusals.ts'
import type { Aborted } from '../route.ts'

/** Maximum size in bytes of a body that needs no turn. */
const SMALL_BODY_BYTES = 8_192
/** Bytes of larger bodies of one key in work at once, some 600 events: docs/reference/performance.md, Batches. */
const LARGE_BODY_BYTES_AT_ONCE = 196_608

interface TurnsByKeyOptions {
  /** Maximum weight of one key's tasks in progress. A heavier task runs alone. Default 3. */
  readonly atOnce?: number
  /** After so long a task is assumed to wait on I/O and gives up its place. Default 250. */
  readonly heldForMs?: number
  /** How long a task waits for its turn. Default 1,500. */
  readonly withinMs?: number
}

interface Waiting {
  readonly size: number
  readonly onTurn: () => void
}

interface Line {
  /** Weight of the tasks in progress. */
  running: number
  readonly waiting: Waiting[]
}

/**
 * Bounds the tasks in progress of each key; the others wait in order. So one tenant's forty reads (each costs every
 * process several times a record), large bodies or gzip bodies delay nobody else (decisions.md, Busy and broken, Slow
 * and large).
 */
export function createTurnsByKey({ atOnce = 3, heldForMs = 250, withinMs = 1_500 }: TurnsByKeyOptions = {}) {
  const lines = new Map<string, Line>()
  const hasRoom = ({ running }: Line, size: number): boolean => running === 0 || running + size <= atOnce

  function beginNext(line: Line): void {
    for (let next = line.waiting[0]; next && hasRoom(line, next.size); next = line.waiting[0]) {
      line.waiting.shift()
      line.running += next.size
      next.onTurn()
    }
  }

  function turnComes(line: Line, size: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const giveUp = (): void => {
      line.waiting.splice(line.waiting.indexOf(waiting), 1)
      resolve(false)
      beginNext(line)
    }
    const timer = setTimeout(giveUp, withinMs)
    const onTurn = (): void => {
      clearTimeout(timer)
      resolve(true)
    }
    const waiting = { size, onTurn }
    line.waiting.push(waiting)
    return promise
  }

  /** Returns the function that ends a task in progress. */
  function begin(key: string, line: Line, size: number): () => void {
    let isRunning = true
    const end = (): void => {
      if (!isRunning) return
      isRunning = false
      clearTimeout(timer)
      line.running -= size
      beginNext(line)
      if (line.running === 0) lines.delete(key)
    }
    const timer = setTimeout(end, heldForMs)
    return end
  }

  /** Runs `task`, of weight `size`, in its key's turn; `crowded` if the turn did not come in time. */
  return async <Result>(key: string, task: () => Promise<Result>, size = 1): Promise<Result | 'crowded'> => {
    const line = lines.get(key) ?? { running: 0, waiting: [] }
    lines.set(key, line)
    if (line.waiting.length === 0 && hasRoom(line, size)) line.running += size
    else if (!(await turnComes(line, size))) return 'crowded'
    const end = begin(key, line, size)
    try {
      return await task()
    } finally {
      end()
    }
  }
}

/** Returns true for reads, which have no body, and for large bodies. */
export function needsTurn(body: Uint8Array | undefined): boolean {
  return body === undefined || body.length > SMALL_BODY_BYTES
}

/**
 * Runs a few reads and large bodies of each key at once (decisions.md, Busy and broken). `withinMs`: the longest wait.
 */
export function createRequestTurns(withinMs: { readonly read: number; readonly largeBody: number }) {
  const readInTurn = createTurnsByKey({ withinMs: withinMs.read })
  const largeBodyInTurn = createTurnsByKey({ withinMs: withinMs.largeBody, atOnce: LARGE_BODY_BYTES_AT_ONCE })

  return async <Result>(
    { socket }: Pick<IncomingMessage, 'socket'>,
    keyHash: string,
    body: Uint8Array | undefined,
    task: () => Promise<Result>,
  ): Promise<Result | Refusal | Aborted> => {
    // The caller may have left meanwhile, and its repeat may be on its way.
    const begin = async () => (socket.destroyed ? ({ outcome: 'aborted' } as const) : task())
    const result = await (body ? largeBodyInTurn(keyHash, begin, body.length) : readInTurn(keyHash, begin))
    return result === 'crowded' ? refuse(REFUSALS.busy) : result
  }
}
