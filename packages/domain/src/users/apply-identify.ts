import type { IdentifyRequested } from '@nextvisit/contracts'
import { withinDeviceLimits } from '../traits/trait-limits.ts'
import { applyImportedOperations, applyTraitOperations } from '../traits/trait-operations.ts'
import type { Profile, ProfileChange } from '../traits/profile.ts'

/**
 * Applies an identify: its operations, and its device facts over the known ones (decisions.md, Identify). An imported
 * identify only fills in unknown facts (decisions.md, Import). Operations that would exceed a limit are dropped. Returns a
 * new profile; `before` is not changed.
 */
export function applyIdentify(before: Profile, { operations, device, imported }: IdentifyRequested): ProfileChange {
  const { kept, dropped } = withinDeviceLimits(device)
  const change = imported ? applyImportedOperations(before, operations) : applyTraitOperations(before, operations)
  const known = imported ? { ...kept, ...before.device } : { ...before.device, ...kept }
  return {
    ...change,
    profile: { ...change.profile, device: known },
    dropped: dropped.length === 0 ? change.dropped : [...change.dropped, ...dropped],
  }
}

/** Returns the instant of an identify: when it was received, or the time in its imported line. */
export function identifiedAt({ imported, occurredAt, received }: IdentifyRequested): string {
  return imported ? (occurredAt ?? received) : received
}
