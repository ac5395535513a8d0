import type { ContinueAt, FetchedBatch } from '@nextvisit/log'
import { RunnerStoppedError } from '../core/errors.ts'

/** A batch, and the caller who waits for it. */
interface GivenBatch extends Pick<PromiseWithResolvers<ContinueAt | undefined>, 'resolve' | 'reject'> {
  readonly batch: FetchedBatch
}

/**
 * ```
 * idle ──give──▶ waiting ──begin──▶ busy ──complete──▶ idle
 *                   ▲                 │
 *                   └───── repeat ────┘
 * ```
 */
type State =
  | { readonly is: 'idle' }
  | { readonly is: 'waiting'; readonly given: GivenBatch; readonly readyAtMs: number }
  | { readonly is: 'busy'; readonly given: GivenBatch }

/**
 * Holds the one batch of a partition while it waits for a commit or is busy with one. Abandons it once the process loses the
 * partition; a commit in flight ends first. `wake`: wakes the commit loop.
 */
export function createBatchSlot(wake: () => void, signal: AbortSignal) {
  let state: State = { is: 'idle' }

  function wait(given: GivenBatch, readyAtMs: number): void {
    if (signal.aborted) return abandon(given)
    state = { is: 'waiting', given, readyAtMs }
    wake()
  }

  function abandon({ reject }: GivenBatch): void {
    state = { is: 'idle' }
    reject(new RunnerStoppedError())
  }

  signal.addEventListener('abort', () => {
    if (state.is === 'waiting') abandon(state.given)
  })

  return {
    state: () => state.is,
    /** Resolves at `complete`, to its argument. Rejects with `RunnerStoppedError` once the process loses the partition. */
    give: (batch: FetchedBatch): Promise<ContinueAt | undefined> => {
      const { promise, resolve, reject } = Promise.withResolvers<ContinueAt | undefined>()
      wait({ batch, resolve, reject }, performance.now())
      return promise
    },
    /** Returns the batch that waits or is busy. */
    batch: () => (state.is === 'idle' ? undefined : state.given.batch),
    readyAtMs: () => (state.is === 'waiting' ? state.readyAtMs : Infinity),
    begin: () => {
      if (state.is === 'waiting') state = { is: 'busy', given: state.given }
    },
    /** Lets the batch wait for another commit, which may begin at `readyAtMs`. */
    repeat: (readyAtMs = performance.now()) => {
      if (state.is !== 'idle') wait(state.given, readyAtMs)
    },
    complete: (continueAt?: ContinueAt) => {
      if (state.is === 'idle') return
      const { resolve } = state.given
      state = { is: 'idle' }
      resolve(continueAt)
    },
  }
}
