/** Limits of the bodies of public routes. Lengths are in Unicode code points (decisions.md, Words: lengths). */
export const BODY_LIMITS = {
  userNameLength: 255,
  eventNameLength: 100,
  traitKeyLength: 100,
  /** Maximum number of operations in one request, over all operators. */
  traitOperations: 250,
  traitStringLength: 500,
  traitItems: 100,
  /** Maximum number of levels of a body. */
  depth: 8,
  propertiesBytes: 32_768,
  /** Maximum number of levels of an event's properties, including the object itself. */
  propertiesDepth: 5,
  propertyKeyLength: 100,
  propertyStringLength: 2_048,
  timezoneLength: 64,
  /** Maximum length of a text of the user in place of an option. */
  otherTextLength: 1_000,
  batchItems: 1_000,
  /** Maximum number of userNames in one erasure. */
  erasedUserNames: 1_000,
} as const

/** Writes a number with thousands separators, as the documents of the public API do. */
export function withSeparators(count: number): string {
  return count.toLocaleString('en-US')
}
