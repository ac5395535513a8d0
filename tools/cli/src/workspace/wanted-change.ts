import { type CatalogState, type Change, changeLine } from '@nextvisit/catalog'
import type { OrganizationConfigured } from '@nextvisit/contracts'
import type { ChangeEnd, WantedChange } from '@nextvisit/operator-changes'

/** Lines about access come first in the record of a change, which cuts the rest. */
const ABOUT_ACCESS = /^(key|signingSecret|webhook)\b/

/** Returns the change of an operator that a revision is. */
export function wantedChangeOf(
  state: CatalogState,
  { organization, revision, config }: OrganizationConfigured,
  changes: readonly Change[],
  file: string | undefined,
): WantedChange {
  const [access = [], others = []] = [true, false].map((isAccess) =>
    changes.filter(({ what }) => ABOUT_ACCESS.test(what) === isAccess),
  )
  const before = state.organizations.get(organization)?.revision
  const counted = { changes: changes.length, access: access.length }
  return {
    kind: 'workspace.apply',
    organization,
    target: file,
    details: {
      ...(before !== undefined && { fromRevision: before }),
      revision,
      ...counted,
      isRemoval: config === null,
    },
    lines: [...access, ...others].map(changeLine),
  }
}

interface Applied {
  /** Organizations whose revision another process has taken. */
  readonly lost?: readonly string[]
  /** Organizations whose record is not in the log. */
  readonly missing?: readonly string[]
}

/** Returns how the change of an organization ended. */
export function endOfApply({ lost = [], missing = [] }: Applied, organization: string): ChangeEnd {
  if (lost.includes(organization)) return { outcome: 'refused', reason: 'ANOTHER_CAME_FIRST' }
  return missing.includes(organization) ? { outcome: 'failed', reason: 'NOT_IN_LOG' } : { outcome: 'made' }
}
