import type { DeviceFacts, TraitValue } from '@nextvisit/contracts'

/**
 * Limits on the facts about one user (decisions.md, Identify). The fold drops an operation that would exceed one, so that
 * no user slows down the others of a batch. Part of the log's meaning: other limits give other read models.
 */
export const USER_LIMITS = {
  traits: 1_000,
  /** Size of all traits in bytes ({@link traitBytesOf}). */
  traitBytes: 262_144,
  /** Size of one device fact in bytes of UTF-8. */
  deviceFactBytes: 2_048,
} as const

/**
 * Returns the size of a trait in bytes: its slug and its value as JSON in UTF-8. A number with an exponent counts the
 * digits that Postgres writes: `1e+308` has 309.
 */
export function traitBytesOf(slug: string, value: TraitValue): number {
  const digits = Array.isArray(value) ? value.reduce(addWrittenOut, 0) : addWrittenOut(0, value)
  return Buffer.byteLength(JSON.stringify(slug)) + Buffer.byteLength(JSON.stringify(value)) + digits
}

function addWrittenOut(sum: number, value: unknown): number {
  if (typeof value !== 'number') return sum
  const [, exponent = 0] = String(value).split('e')
  return sum + Math.abs(Number(exponent))
}

/** Separates device facts within the limit from the names of those that are too long. */
export function withinDeviceLimits(device: DeviceFacts): { readonly kept: DeviceFacts; readonly dropped: string[] } {
  const entries = Object.entries(device)
  const dropped = entries.filter(([, value]) => Buffer.byteLength(value) > USER_LIMITS.deviceFactBytes)
  if (dropped.length === 0) return { kept: device, dropped: [] }
  return {
    kept: Object.fromEntries(entries.filter((entry) => !dropped.includes(entry))),
    dropped: dropped.map(([name]) => name),
  }
}
