import type { DeviceFacts, IdentifyRequested, TraitValue } from '@nextvisit/contracts'
import { applyImportedOperations, applyTraitOperations } from './trait-operations.ts'

/** What identifies tell of a user. */
export interface ToldFacts {
  readonly traits: ReadonlyMap<string, TraitValue>
  readonly device: DeviceFacts
}

/**
 * What is known after an identify: operations applied, device facts laid over what was there (decisions.md, Identify); of
 * an imported one either only where nothing is known (decisions.md, Import). What is given stays as it was.
 */
export function applyIdentify(
  { traits, device }: ToldFacts,
  fact: IdentifyRequested,
): ToldFacts & { readonly skippedIncrements: readonly string[] } {
  return fact.imported
    ? { ...applyImportedOperations(traits, fact.operations), device: { ...fact.device, ...device } }
    : { ...applyTraitOperations(traits, fact.operations), device: { ...device, ...fact.device } }
}

/** When an identify saw its user: on its arrival, or when an imported line says. */
export function identifiedAt({ imported, occurredAt, received }: IdentifyRequested): string {
  return imported ? (occurredAt ?? received) : received
}
