import type { DeviceFacts, IdentifyRequested } from '@nextvisit/contracts'
import { withinDeviceLimits } from './trait-limits.ts'
import {
  type AppliedTraits,
  applyImportedOperations,
  applyTraitOperations,
  NO_TRAITS,
  type SizedTraits,
} from './trait-operations.ts'

/** The facts about a user that identifies change. */
export interface ProfileFacts extends SizedTraits {
  readonly device: DeviceFacts
}

/** The facts about a user who was never identified. */
export const NO_PROFILE: ProfileFacts = { ...NO_TRAITS, device: {} }

/**
 * Applies an identify: its operations, and its device facts over the known ones (decisions.md, Identify). An imported
 * identify only fills in unknown facts (decisions.md, Import). Operations that would exceed a limit are dropped. Returns
 * new facts; `before` is not changed.
 */
export function evolveProfileFacts(before: ProfileFacts, fact: IdentifyRequested): ProfileFacts & AppliedTraits {
  const { kept, dropped } = withinDeviceLimits(fact.device)
  const applied = fact.imported
    ? { ...applyImportedOperations(before, fact.operations), device: { ...kept, ...before.device } }
    : { ...applyTraitOperations(before, fact.operations), device: { ...before.device, ...kept } }
  return dropped.length === 0 ? applied : { ...applied, dropped: [...applied.dropped, ...dropped] }
}

/** Returns the instant of an identify: when it was received, or the time in its imported line. */
export function identifiedAt({ imported, occurredAt, received }: IdentifyRequested): string {
  return imported ? (occurredAt ?? received) : received
}
