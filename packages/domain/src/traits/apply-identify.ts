import type { DeviceFacts, IdentifyRequested } from '@nextvisit/contracts'
import { withinDeviceLimits } from './trait-limits.ts'
import {
  type AppliedTraits,
  applyImportedOperations,
  applyTraitOperations,
  NO_TRAITS,
  type SizedTraits,
} from './trait-operations.ts'

/** What identifies say about a user. */
export interface ProfileFacts extends SizedTraits {
  readonly device: DeviceFacts
}

/** Of a user whom nobody has identified. */
export const NO_PROFILE: ProfileFacts = { ...NO_TRAITS, device: {} }

/**
 * The facts after an identify: operations applied, device facts merged over the known ones (decisions.md, Identify). An
 * imported identify only fills in what is unknown (decisions.md, Import). What would pass a limit is dropped. The given
 * facts are not changed.
 */
export function applyIdentify(before: ProfileFacts, fact: IdentifyRequested): ProfileFacts & AppliedTraits {
  const { kept, dropped } = withinDeviceLimits(fact.device)
  const applied = fact.imported
    ? { ...applyImportedOperations(before, fact.operations), device: { ...kept, ...before.device } }
    : { ...applyTraitOperations(before, fact.operations), device: { ...before.device, ...kept } }
  return dropped.length === 0 ? applied : { ...applied, dropped: [...applied.dropped, ...dropped] }
}

/** When an identify saw its user: when it was received, or the time in an imported line. */
export function identifiedAt({ imported, occurredAt, received }: IdentifyRequested): string {
  return imported ? (occurredAt ?? received) : received
}
