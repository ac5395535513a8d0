import { type Change, diffOrganization } from './diff-organization.ts'
import { type CatalogState, emptyCatalog, foldCatalog, type HeldOrganization } from './fold-catalog.ts'
import { contentInWords } from './form-contents.ts'
import { type CatalogRecord, contentKeyOf } from './read-catalog-record.ts'

/** One record of the catalog, as people read it. */
export interface CatalogRevision {
  readonly organization: string
  /** null: it cannot be read. */
  readonly revision: number | null
  /** ISO instant. Kafka's time of the record, if the record does not have it. */
  readonly appliedAt: string
  /** The operating system's user. null: not recorded. */
  readonly appliedBy: string | null
  /** `late`: another record of this revision came first, so this one has no effect. */
  readonly outcome: 'counts' | 'late' | 'not-understood'
  /** The part that this version does not understand. */
  readonly problem: string | null
  /** The revision that it is compared with. 0: it is the first one. null: the log no longer has the previous one. */
  readonly comparedWith: number | null
  /** At most {@link MAX_CHANGES}. */
  readonly changes: readonly Change[]
  readonly moreChanges: number
}

/** The folded records of the catalog so far, and the latest revisions. */
export interface CatalogHistory {
  readonly state: CatalogState
  /** At most {@link MAX_REVISIONS}, the oldest first. */
  readonly revisions: CatalogRevision[]
  /** The contents of forms in words, by the Kafka keys of their records. */
  readonly contents: Map<string, string>
  /** Older revisions were read and dropped. */
  isCut: boolean
}

const MAX_CHANGES = 100
const MAX_REVISIONS = 500

export function emptyHistory(): CatalogHistory {
  return { state: emptyCatalog(), revisions: [], contents: new Map(), isCut: false }
}

/** Adds a record, in place. `recordedAt`: Kafka's time of the record. */
export function addToHistory(history: CatalogHistory, record: CatalogRecord, recordedAt: Date): void {
  if (record.outcome === 'content')
    history.contents.set(contentKeyOf(record.content), contentInWords(record.content.content))
  if (record.outcome !== 'read' && record.outcome !== 'unreadable') return
  const { organization, revision = null, applied } = record
  const before = history.state.organizations.get(organization)
  const isCounted = foldCatalog(history.state, record)
  history.revisions.push({
    organization,
    revision,
    appliedAt: applied?.at ?? recordedAt.toISOString(),
    appliedBy: applied?.by ?? null,
    ...(isCounted ? countedOf(record, before, history) : LATE),
  })
  if (history.revisions.length <= MAX_REVISIONS) return
  history.revisions.shift()
  history.isCut = true
}

type Comparison = Pick<CatalogRevision, 'outcome' | 'problem' | 'comparedWith' | 'changes' | 'moreChanges'>

const NOTHING = { comparedWith: null, changes: [], moreChanges: 0 }
const LATE: Comparison = { ...NOTHING, outcome: 'late', problem: null }

function countedOf(
  record: Extract<CatalogRecord, { outcome: 'read' | 'unreadable' }>,
  before: HeldOrganization | undefined,
  { state: { organizations }, contents }: CatalogHistory,
): Comparison {
  const problem = organizations.get(record.organization)?.problem?.reason ?? null
  if (record.outcome === 'unreadable') return { ...NOTHING, outcome: 'not-understood', problem }
  const comparedWith = before?.revision ?? (record.revision === 1 ? 0 : null)
  if (comparedWith === null) return { ...NOTHING, outcome: 'counts', problem }
  const { organization } = record
  const changes = diffOrganization(organization, before?.config, record.config, (project, formId, ref) =>
    contents.get(contentKeyOf({ organization, project, formId, ...ref })),
  )
  return {
    outcome: 'counts',
    problem,
    comparedWith,
    changes: changes.slice(0, MAX_CHANGES),
    moreChanges: Math.max(0, changes.length - MAX_CHANGES),
  }
}
