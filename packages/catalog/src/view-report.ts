import { createHash } from 'node:crypto'
import type { CatalogProblem } from './catalog-view.ts'
import { type CatalogState, problemsOf } from './fold-catalog.ts'

/** What a process says of the catalog that it holds. `nextvisit apply` and `status` read it. */
export interface ViewReport {
  /** The same in two processes that have read the same revisions of all organizations. */
  readonly revisions: string
  /** What it does not understand of them. */
  readonly problems: readonly CatalogProblem[]
  /** How many more problems there are, for which there was no room. */
  readonly moreProblems: number
}

/** Kafka allows 4,096 bytes for the note that is committed with an offset. */
const MAX_NOTE_BYTES = 4_000
const MAX_REASON_CHARACTERS = 300

/** A report as the note of an offset: JSON of at most 4,000 bytes. */
export function viewReportNote(state: CatalogState): string {
  const all = problemsOf(state)
  const revisions = revisionsDigest(state)
  const noteOf = (count: number): string => {
    const problems = all.slice(0, count).map((one) => ({ ...one, reason: one.reason.slice(0, MAX_REASON_CHARACTERS) }))
    return JSON.stringify({ revisions, problems, moreProblems: all.length - count } satisfies ViewReport)
  }
  let count = all.length
  while (count > 0 && Buffer.byteLength(noteOf(count)) > MAX_NOTE_BYTES) count = Math.floor(count / 2)
  return noteOf(count)
}

/** The report in a note; undefined: it is of a release that reports nothing. */
export function parseViewReport(note: string): ViewReport | undefined {
  try {
    const report = JSON.parse(note) as Partial<ViewReport>
    const { revisions, problems = [], moreProblems = 0 } = report
    return typeof revisions === 'string' && Array.isArray(problems) ? { revisions, problems, moreProblems } : undefined
  } catch {
    return undefined
  }
}

/** A hash of the latest revision of every organization, whether it could be read or not. */
export function revisionsDigest({ organizations }: CatalogState): string {
  const lines = Array.from(organizations, ([id, { latestRevision }]) => `${id}@${latestRevision}`)
  return createHash('sha256').update(lines.toSorted().join('\n')).digest('hex').slice(0, 16)
}
