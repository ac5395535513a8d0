import { compileSegments } from '@nextvisit/domain'
import type { CatalogProject } from './catalog-view.ts'

/** A segment of a project. */
export interface CatalogSegment {
  readonly id: string
  readonly name: string | null
  /** The fingerprint of its condition. Empty: this process does not understand the segment, so its members are unknown. */
  readonly fingerprint: string
}

/** Returns a project's segments in the order of their ids. */
export function catalogSegments({
  config,
  notUnderstood,
}: Pick<CatalogProject, 'config' | 'notUnderstood'>): readonly CatalogSegment[] {
  const names = new Map(config.segments.map(({ id, name }) => [id, name]))
  const unknown = new Set(notUnderstood.filter(({ kind }) => kind === 'segment').map(({ id }) => id))
  return compileSegments(config).segments.map(({ id, fingerprint }) => ({
    id,
    name: names.get(id) ?? null,
    fingerprint: unknown.has(id) ? '' : fingerprint,
  }))
}
