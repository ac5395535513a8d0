import { compileSegments } from '@nextvisit/domain'
import type { CatalogProject } from './catalog-view.ts'

/** A segment as the user projector is asked about it. */
export interface SegmentDefinition {
  readonly id: string
  readonly name: string | null
  /** Empty: this process does not understand the segment, so nobody's membership is known by its present definition. */
  readonly definition: string
}

/** A project's segments by id. */
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
