import type { FormContent, KeyEntry, NotUnderstood, ProjectRef } from '@nextvisit/contracts'
import type { ProjectPolicy } from '@nextvisit/domain'

/** A project in the catalog. Its sets are built once per revision. */
export interface CatalogProject extends ProjectPolicy {
  /** Revision of the organization's record. */
  readonly revision: number
  /** Its forms, contents, segments, keys and webhooks that this process does not understand. */
  readonly notUnderstood: readonly NotUnderstood[]
}

export interface CatalogKey {
  readonly entry: KeyEntry
  readonly project: CatalogProject
}

/** The part of an organization's latest record that a process does not understand or does not have (decision 0012). */
export interface CatalogProblem {
  readonly organization: string
  /** The revision of the latest record. null: it cannot be read. */
  readonly revision: number | null
  /** The revision in use. Less than `revision`: only the keys of the latest record are used. 0: none. */
  readonly usedRevision: number
  /** The reason why it cannot be read, or the forms, contents, segments, keys and webhooks that are not understood. */
  readonly reason: string
  /** Present if the latest record may be in an undecodable batch of the log. The next record ends the problem. */
  readonly isUndecodable?: true
  /** Present if only contents of forms are not in the log. The next `apply` publishes them again. */
  readonly isMissingContent?: true
}

/** Describes a problem: `revision 7 of acme is not understood; revision 6 is used: …` */
export function describeProblem({
  organization,
  revision,
  usedRevision,
  reason,
  isUndecodable,
  isMissingContent,
}: CatalogProblem): string {
  if (isUndecodable) return `revision ${usedRevision} of ${organization} is used, but may not be the latest: ${reason}`
  if (isMissingContent) return `revision ${usedRevision} of ${organization} is used, but ${reason}`
  const named = `revision ${revision ?? '?'} of ${organization} is not understood`
  if (usedRevision === revision) return `${named} in full: ${reason}`
  return `${named}; ${usedRevision === 0 ? 'there is no other' : `revision ${usedRevision} is used`}: ${reason}`
}

/** The catalog topic, held in memory. Answers immediately. Its content only moves forward. */
export interface CatalogView {
  readonly project: (organization: string, project: string) => CatalogProject | undefined
  readonly projects: () => Iterable<CatalogProject>
  /** Returns the key with this SHA-256, hex. */
  readonly keyByHash: (sha256: string) => CatalogKey | undefined
  /** Returns the revision in use for an organization. 0: none. */
  readonly revision: (organization: string) => number
  /**
   * Returns the content of a form since a revision, also of one that was removed. undefined: it is not in the log, this
   * process does not understand it, or the view holds no contents (`withFormContents`).
   */
  readonly formContent: (place: ProjectRef, formId: string, revision: number) => FormContent | undefined
  /** Returns the problems by organization. Empty: this process understands the whole catalog. */
  readonly problems: () => readonly CatalogProblem[]
  /** Adds a listener, which is called after each change with the organization that changed. */
  readonly onChange: (listener: (organization: string) => void) => void
  /**
   * Returns when the view last contained everything up to the log's end, in ms of `performance.now()`, because the wall
   * clock may be set back. 0: never.
   */
  readonly currentAsOfMs: () => number
}
