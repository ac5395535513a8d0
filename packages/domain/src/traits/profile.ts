import type { DeviceFacts, TraitValue } from '@nextvisit/contracts'

/** The facts about a user that identifies change. */
export interface Profile {
  readonly traits: ReadonlyMap<string, TraitValue>
  /** Total size of the traits in bytes (`traitBytesOf`). */
  readonly traitBytes: number
  readonly device: DeviceFacts
}

/** The profile of a user who was never identified. */
export const EMPTY_PROFILE: Profile = { traits: new Map(), traitBytes: 0, device: {} }

/** A changed profile, and the operations without effect. */
export interface ProfileChange {
  readonly profile: Profile
  /** Slugs of operations that cannot apply to the trait, such as an increment of a text, in the order of application. */
  readonly skipped: readonly string[]
  /** Slugs and device fields of operations that a limit dropped, in the order of application. */
  readonly dropped: readonly string[]
}

/** Parses the stored traits of a profile. */
export function parseTraits(json: string): Profile['traits'] {
  return new Map(Object.entries(JSON.parse(json) as Record<string, TraitValue>))
}

/**
 * Returns a profile's traits as JSON to store; undefined if they are the stored ones. Traits may be long, and most records
 * change other columns only.
 */
export function formatChangedTraits(
  traits: Profile['traits'],
  stored: Profile['traits'] | undefined,
): string | undefined {
  return traits === stored ? undefined : JSON.stringify(Object.fromEntries(traits))
}
