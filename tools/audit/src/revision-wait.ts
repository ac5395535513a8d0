/** Verdict of a catalog revision about a record and a form that the record has not queued. */
export type Verdict = 'queue' | 'refuse' | 'undecided' | 'not triggered'

interface PendingDecision {
  readonly partition: number
  readonly organization: string
  /** First revision around the time when the record was received. It was evaluated then or later. */
  readonly from: number
  /** Last revision around that time. */
  readonly until: number
  /** Verdicts of all revisions from `from` on, each from a `first` to a `last` revision. */
  readonly verdicts: readonly { readonly first: number; readonly last: number; readonly verdict: Verdict }[]
  readonly onSettled: (verdict: Exclude<Verdict, 'not triggered'>) => void
}

/**
 * Maximum number of waiting decisions per partition and organization. A long history before the first form settles nothing,
 * so the oldest are dropped.
 */
const MOST_WAITING = 10_000

/**
 * Creates a queue of decisions that depend on the evaluator's revision. They wait until the log determines its possible
 * revisions.
 */
export function createRevisionWait() {
  const waiting = new Map<string, PendingDecision[]>()

  return {
    enqueue: (decision: PendingDecision): void => {
      const verdict = agreedBy(decision.verdicts)
      if (verdict === 'not triggered') return
      if (verdict !== undefined) return decision.onSettled(verdict)
      const key = `${decision.partition}/${decision.organization}`
      const others = waiting.get(key) ?? []
      waiting.set(key, others)
      others.push(decision)
      if (others.length > MOST_WAITING)
        for (const { onSettled } of others.splice(0, MOST_WAITING / 2)) onSettled('undecided')
    },

    /** Reports, in the partition's order, that the evaluator had this revision here, and therefore no later one before. */
    observe: (partition: number, organization: string, revision: number): void => {
      const key = `${partition}/${organization}`
      for (const { from, until, verdicts, onSettled } of waiting.get(key) ?? []) {
        const possible = verdicts.filter(({ first }) => first <= Math.max(until, revision))
        const verdict = revision < from ? 'undecided' : agreedBy(possible)
        if (verdict !== 'not triggered') onSettled(verdict ?? 'undecided')
      }
      waiting.delete(key)
    },

    /** Ends the observations. */
    end: (): void => {
      for (const { onSettled } of [...waiting.values()].flat()) onSettled('undecided')
      waiting.clear()
    },
  }
}

/** Returns the verdict if all revisions agree; undefined: they differ. */
function agreedBy(verdicts: PendingDecision['verdicts']): Verdict | undefined {
  const all = new Set(verdicts.map(({ verdict }) => verdict))
  if (all.size === 1) return verdicts[0]?.verdict
  if (all.size === 0) return 'not triggered'
  return all.has('queue') || all.has('undecided') ? undefined : 'refuse'
}
