import { compileSegments } from '@nextvisit/domain'
import type { CatalogProject } from './catalog-view.ts'

/** A segment in a question to the user projector. */
export interface SegmentDefinition {
  readonly id: string
  readonly name: string | null
  /** Empty: this process does not understand the segment, so its members are unknown. */
  readonly definition: string
}

/** Returns a project's segments in the order of their ids. */
export function segmentDefinitions({
  config,
  notUnderstood,
}: Pick<CatalogProject, 'config' | 'notUnderstood'>): readonly SegmentDefinition[] {
  const names = new Map(config.segments.map(({ id, name }) => [id, name]))
  const isKnown = (id: string) => !notUnderstood.some((part) => part.kind === 'segment' && part.id === id)
  return compileSegments(config).segments.map(({ id, definition }) => ({
    id,
    name: names.get(id) ?? null,
    definition: isKnown(id) ? definition : '',
  }))
}
