import { createHash } from 'node:crypto'
import { firstCharacters } from '@nextvisit/contracts'
import type { CatalogProblem } from './catalog-view.ts'
import { type CatalogState, problemsOf } from './fold-catalog.ts'

/** A process's report about the catalog that it holds. `nextvisit apply` and `status` read it. */
export interface ViewReport {
  /** Equal in two processes that have read the same revisions of all organizations. */
  readonly revisions: string
  /** The parts that it does not understand. */
  readonly problems: readonly CatalogProblem[]
  /** Number of problems that did not fit. */
  readonly moreProblems: number
  /** Ids of the keys in its NEXTVISIT_SECRET_KEY. Absent: the process does not read it. */
  readonly secretKeyIds?: readonly string[]
}

/** Kafka allows 4,096 bytes for the note that is committed with an offset. */
const MAX_NOTE_BYTES = 4_000
const MAX_REASON_CHARACTERS = 300

/** Returns the report as the note of an offset: JSON of at most 4,000 bytes. */
export function viewReportNote(state: CatalogState, secretKeyIds?: readonly string[]): string {
  const all = problemsOf(state)
  const revisions = revisionsDigest(state)
  const noteOf = (count: number): string => {
    const problems = all
      .slice(0, count)
      .map((one) => ({ ...one, reason: firstCharacters(one.reason, MAX_REASON_CHARACTERS) }))
    const report: ViewReport = { revisions, problems, moreProblems: all.length - count }
    return JSON.stringify(secretKeyIds ? { ...report, secretKeyIds } : report)
  }
  let count = all.length
  while (count > 0 && Buffer.byteLength(noteOf(count)) > MAX_NOTE_BYTES) count = Math.floor(count / 2)
  return noteOf(count)
}

/** Parses the report in a note. undefined: it is of a release that does not report. */
export function parseViewReport(note: string): ViewReport | undefined {
  try {
    const report = JSON.parse(note) as Partial<ViewReport>
    const { revisions, problems = [], moreProblems = 0, secretKeyIds } = report
    if (typeof revisions !== 'string' || !Array.isArray(problems)) return undefined
    return { revisions, problems, moreProblems, ...(Array.isArray(secretKeyIds) && { secretKeyIds }) }
  } catch {
    return undefined
  }
}

/** Returns a hash of the latest revision of every organization, readable or not. */
export function revisionsDigest({ organizations }: CatalogState): string {
  const lines = Array.from(organizations, ([id, { latestRevision }]) => `${id}@${latestRevision}`)
  return createHash('sha256').update(lines.toSorted().join('\n')).digest('hex').slice(0, 16)
}

/**
 * Returns the consumer group of a running view. The view is its only member, so that it gets every record. The note that it
 * commits with its offset is its {@link ViewReport}.
 */
export function viewGroup(topic: string, serviceName: string, instance: string): string {
  return `${viewGroupPrefix(topic)}${serviceName}.${instance}`
}

/** Returns the prefix of the groups of all views of a topic: `nextvisit.catalog.`. */
export function viewGroupPrefix(topic: string): string {
  return `nextvisit.${topic}.`
}
