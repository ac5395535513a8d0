import type { CatalogView } from '@nextvisit/catalog'
import type { ProjectRef } from '@nextvisit/contracts'
import { compileSegments, NO_SEGMENTS } from '@nextvisit/domain'
import type { ProjectSegments } from './user-draft.ts'

/** A project's segments as the catalog has them now; none where the project is gone. */
export function segmentsOf(catalog: CatalogView, { organization, project }: ProjectRef): ProjectSegments {
  const found = catalog.project(organization, project)
  return {
    index: found ? compileSegments(found.config) : NO_SEGMENTS,
    revision: found?.revision ?? catalog.revision(organization),
  }
}
