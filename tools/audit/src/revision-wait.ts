/** What a revision of the catalog makes of a record and a form that it has not queued. */
export type Verdict = 'queue' | 'refuse' | 'unsure' | 'not asked'

/** The same from one revision to another, both included. */
export interface VerdictOfRevisions {
  readonly first: number
  readonly last: number
  readonly verdict: Verdict
}

export interface Question {
  readonly partition: number
  readonly organization: string
  /** The revisions at about the time when the record was received. It was evaluated then or later. */
  readonly from: number
  readonly until: number
  /** By each revision from `from` on. */
  readonly verdicts: readonly VerdictOfRevisions[]
  readonly onSettled: (verdict: Exclude<Verdict, 'not asked'>) => void
}

/** Of a partition and organization. Of a long history before the first form, what it would do to it is never learnt. */
const MOST_WAITING = 10_000

/** Holds back what depends on the revision that the evaluator had, until the log tells which it can have been. */
export interface RevisionWait {
  readonly ask: (question: Question) => void
  /** In the partition's order: here it had this revision, and so no later one before. */
  readonly learn: (partition: number, organization: string, revision: number) => void
  /** Nothing more is to be learnt. */
  readonly end: () => void
}

export function createRevisionWait(): RevisionWait {
  const waiting = new Map<string, Question[]>()

  return {
    ask: (question) => {
      const verdict = agreedBy(question.verdicts)
      if (verdict === 'not asked') return
      if (verdict !== undefined) return question.onSettled(verdict)
      const key = `${question.partition}/${question.organization}`
      const others = waiting.get(key) ?? []
      waiting.set(key, others)
      others.push(question)
      if (others.length > MOST_WAITING)
        for (const { onSettled } of others.splice(0, MOST_WAITING / 2)) onSettled('unsure')
    },

    learn: (partition, organization, revision) => {
      const key = `${partition}/${organization}`
      for (const { from, until, verdicts, onSettled } of waiting.get(key) ?? []) {
        const possible = verdicts.filter(({ first }) => first <= Math.max(until, revision))
        const verdict = revision < from ? 'unsure' : agreedBy(possible)
        if (verdict !== 'not asked') onSettled(verdict ?? 'unsure')
      }
      waiting.delete(key)
    },

    end: () => {
      for (const { onSettled } of [...waiting.values()].flat()) onSettled('unsure')
      waiting.clear()
    },
  }
}

/** Where it is the same for the row whichever it was; undefined: it is not. */
function agreedBy(verdicts: readonly VerdictOfRevisions[]): Verdict | undefined {
  const all = new Set(verdicts.map(({ verdict }) => verdict))
  if (all.size === 1) return verdicts[0]?.verdict
  if (all.size === 0) return 'not asked'
  return all.has('queue') || all.has('unsure') ? undefined : 'refuse'
}
