import type { Logger, RefusalStore } from '@nextvisit/service-kit'
import type { Refusal } from '../api/refusals.ts'
import { describeRefusal, type RefusedRequest } from './describe-refusal.ts'
import { createGatheredRefusals } from './gathered-refusals.ts'

interface KeptRefusalsOptions {
  readonly store: Pick<RefusalStore, 'add'>
  /** Called for each refusal, also for one without a project. */
  readonly onRefused: (reason: string) => void
  /** Called with how many were neither kept nor counted in Redis. */
  readonly onDropped: (because: 'redis' | 'projects', count: number) => void
  readonly logger: Logger
}

export type NoteRefusal = (refused: RefusedRequest, refusal: Refusal) => void

const FLUSH_AFTER_MS = 1_000

/**
 * Keeps what was refused (decisions.md, Refusals): gathers it, and writes it to Redis once a second. No answer waits for
 * this, and without refusals it does nothing.
 */
export function createKeptRefusals({ store, onRefused, onDropped, logger }: KeptRefusalsOptions) {
  const gathered = createGatheredRefusals()
  let flushed = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let isFailing = false

  async function write(): Promise<void> {
    const taken = gathered.take()
    if (taken.length === 0) return
    try {
      await store.add(taken, Date.now())
      isFailing = false
    } catch (error) {
      // Not the error itself: it holds the whole command.
      const because = error instanceof Error ? error.message : 'unknown'
      const counts = taken.flatMap((project) => [...project.counts.values()])
      onDropped(
        'redis',
        counts.reduce((sum, count) => sum + count, 0),
      )
      if (!isFailing) logger.warn({ because }, 'Refusals cannot be kept: Redis is unavailable or slow')
      isFailing = true
    }
  }

  /** One write at a time. Never rejects. */
  function flush(): Promise<void> {
    timer = undefined
    flushed = flushed.then(write)
    return flushed
  }

  const note: NoteRefusal = (refused, refusal) => {
    const { rule } = refusal
    if (rule === undefined) return
    onRefused(rule)
    const { route, key } = refused
    // A read that is refused loses nothing.
    if (!key || route.method === 'GET') return
    const outcome = gathered.add(key.project, rule, () => describeRefusal(refused, key, rule, refusal))
    if (outcome === 'dropped') onDropped('projects', 1)
    timer ??= setTimeout(() => void flush(), FLUSH_AFTER_MS)
  }

  return {
    note,
    /** Writes what was gathered. */
    stop: () => {
      clearTimeout(timer)
      return flush()
    },
  }
}
