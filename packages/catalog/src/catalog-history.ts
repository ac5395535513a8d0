import { type Change, diffOrganization } from './diff-organization.ts'
import { type CatalogState, emptyCatalog, foldCatalog, type HeldOrganization } from './fold-catalog.ts'
import type { CatalogRecord } from './read-catalog-record.ts'

/** One record of the catalog, for people. */
export interface CatalogRevision {
  readonly organization: string
  /** null: it cannot be read. */
  readonly revision: number | null
  /** ISO instant. Where the record does not say it, Kafka's time of the record. */
  readonly appliedAt: string
  /** As the operating system named them; null: not recorded. */
  readonly appliedBy: string | null
  /** `late`: another record of this revision came first, so this one counts for nothing. */
  readonly outcome: 'counts' | 'late' | 'not-understood'
  /** What this version does not understand of it. */
  readonly problem: string | null
  /** The revision that the changes are compared with. 0: it is the first one. null: the log no longer has the one before. */
  readonly comparedWith: number | null
  /** At most {@link MAX_CHANGES}. */
  readonly changes: readonly Change[]
  readonly moreChanges: number
}

/** The records of the catalog so far, folded; and the latest of them for people. */
export interface CatalogHistory {
  readonly state: CatalogState
  /** The oldest first; at most {@link MAX_REVISIONS}. */
  readonly revisions: CatalogRevision[]
  /** Older ones were read and are not kept. */
  isCut: boolean
}

const MAX_CHANGES = 100
const MAX_REVISIONS = 500

export function emptyHistory(): CatalogHistory {
  return { state: emptyCatalog(), revisions: [], isCut: false }
}

/** Adds a record, in place. `recordedAt`: Kafka's time of it. */
export function addToHistory(history: CatalogHistory, record: CatalogRecord, recordedAt: Date): void {
  if (record.outcome === 'skipped' || record.outcome === 'tombstone') return
  const { organization, revision = null, applied } = record
  const before = history.state.organizations.get(organization)
  const isCounted = foldCatalog(history.state, record)
  history.revisions.push({
    organization,
    revision,
    appliedAt: applied?.at ?? recordedAt.toISOString(),
    appliedBy: applied?.by ?? null,
    ...(isCounted ? countedOf(record, before, history.state) : LATE),
  })
  if (history.revisions.length <= MAX_REVISIONS) return
  history.revisions.shift()
  history.isCut = true
}

type Compared = Pick<CatalogRevision, 'outcome' | 'problem' | 'comparedWith' | 'changes' | 'moreChanges'>

const NOTHING = { comparedWith: null, changes: [], moreChanges: 0 }
const LATE: Compared = { ...NOTHING, outcome: 'late', problem: null }

function countedOf(
  record: Extract<CatalogRecord, { outcome: 'read' | 'unreadable' }>,
  before: HeldOrganization | undefined,
  { organizations }: CatalogState,
): Compared {
  const problem = organizations.get(record.organization)?.problem?.reason ?? null
  if (record.outcome === 'unreadable') return { ...NOTHING, outcome: 'not-understood', problem }
  const comparedWith = before?.revision ?? (record.revision === 1 ? 0 : null)
  if (comparedWith === null) return { ...NOTHING, outcome: 'counts', problem }
  const changes = diffOrganization(record.organization, before?.config, record.config)
  return {
    outcome: 'counts',
    problem,
    comparedWith,
    changes: changes.slice(0, MAX_CHANGES),
    moreChanges: Math.max(0, changes.length - MAX_CHANGES),
  }
}
