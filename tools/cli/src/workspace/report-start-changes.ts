import { type Change, changeLine } from '@nextvisit/catalog'
import type { ApplyOutcome } from './apply-workspace.ts'

/**
 * Reports the changes that a start made by applying its workspace file: another file may have been applied since the last
 * start. New organizations are not reported.
 */
export function reportStartChanges(applied: ApplyOutcome, report: (line: string) => void): void {
  const changed = applied.outcome === 'applied' ? changesOfKnown(applied.changes) : []
  if (changed.length > 0)
    report(
      '! The catalog differed from the workspace file. This start has changed it (add settings to keep to that file):',
    )
  for (const change of changed) report(`    ${changeLine(change)}`)
}

/** Returns the changes of organizations that the catalog had before. */
function changesOfKnown(changes: readonly Change[]): readonly Change[] {
  const added = new Set(changes.filter(addsOrganization).map(({ where }) => where))
  return changes.filter(({ where }) => !added.has(where.split('/')[0] ?? where))
}

function addsOrganization({ sign, what }: Change): boolean {
  return sign === '+' && what === 'organization'
}
