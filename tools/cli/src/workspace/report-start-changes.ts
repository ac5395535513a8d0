import { type Change, changeLine } from '@nextvisit/catalog'
import type { ApplyOutcome } from './apply-workspace.ts'

/**
 * Says what a start has changed by applying its workspace file: somebody may have applied another file since the last start.
 * Says nothing of an organization that is new.
 */
export function reportStartChanges(applied: ApplyOutcome, report: (line: string) => void): void {
  const changed = applied.outcome === 'applied' ? changesOfKnown(applied.changes) : []
  if (changed.length > 0)
    report(
      '! The catalog differed from the workspace file. This start has changed it (write what should stay into that file):',
    )
  for (const change of changed) report(`    ${changeLine(change)}`)
}

/** Of organizations that the catalog had before. */
function changesOfKnown(changes: readonly Change[]): readonly Change[] {
  const added = new Set(changes.filter(addsOrganization).map(({ where }) => where))
  return changes.filter(({ where }) => !added.has(where.split('/')[0] ?? where))
}

function addsOrganization({ sign, what }: Change): boolean {
  return sign === '+' && what === 'organization'
}
