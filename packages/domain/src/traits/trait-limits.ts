import type { DeviceFacts, TraitValue } from '@nextvisit/contracts'

/**
 * What is kept of one user (decisions.md, Identify). The fold drops an operation that would pass a limit, so that no user
 * becomes expensive for the others of a batch. Part of the log's meaning: other limits give other read models.
 */
export const USER_LIMITS = {
  traits: 1_000,
  /** Of all traits: see {@link traitBytesOf}. */
  traitBytes: 262_144,
  /** Of one device fact, UTF-8. */
  deviceFactBytes: 2_048,
} as const

/**
 * What one trait counts: the bytes of its slug and its value as JSON in UTF-8. A number with an exponent counts as many
 * more as the exponent says, because Postgres writes such numbers out: `1e+308` has 309 digits there.
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

/** The device facts that are kept, and the names of those that are too long. */
export function withinDeviceLimits(device: DeviceFacts): { readonly kept: DeviceFacts; readonly dropped: string[] } {
  const entries = Object.entries(device)
  const dropped = entries.filter(([, value]) => Buffer.byteLength(value) > USER_LIMITS.deviceFactBytes)
  if (dropped.length === 0) return { kept: device, dropped: [] }
  return {
    kept: Object.fromEntries(entries.filter((entry) => !dropped.includes(entry))),
    dropped: dropped.map(([name]) => name),
  }
}
