import type { DeviceFacts, IdentifyRequested, TraitValue } from '@nextvisit/contracts'
import { applyImportedOperations, applyTraitOperations } from './trait-operations.ts'

/** What identifies say about a user. */
export interface ProfileFacts {
  readonly traits: ReadonlyMap<string, TraitValue>
  readonly device: DeviceFacts
}

/**
 * The facts after an identify: operations applied, device facts merged over the known ones (decisions.md, Identify). An
 * imported identify only fills in what is unknown (decisions.md, Import). The given facts are not changed.
 */
export function applyIdentify(
  { traits, device }: ProfileFacts,
  fact: IdentifyRequested,
): ProfileFacts & { readonly skippedIncrements: readonly string[] } {
  return fact.imported
    ? { ...applyImportedOperations(traits, fact.operations), device: { ...fact.device, ...device } }
    : { ...applyTraitOperations(traits, fact.operations), device: { ...device, ...fact.device } }
}

/** When an identify saw its user: when it was received, or the time in an imported line. */
export function identifiedAt({ imported, occurredAt, received }: IdentifyRequested): string {
  return imported ? (occurredAt ?? received) : received
}
