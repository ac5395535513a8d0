import type { ChangeLine } from '../../../src/changes/api.ts'
import { text } from '../app/search-values.ts'
import { kindOf } from './change-words.ts'

/** Filters and page in the address. */
export interface ChangesSearch {
  readonly kind?: ChangeLine['kind'] | undefined
  readonly actor?: string | undefined
  readonly project?: string | undefined
  readonly after?: string | undefined
}

/** Reads the filters from an address. */
export function changesSearchOf({ kind, actor, project, after }: Readonly<Record<string, unknown>>): ChangesSearch {
  return {
    kind: kindOf(kind),
    actor: text(actor),
    project: text(project),
    after: typeof after === 'number' ? String(after) : text(after),
  }
}
