/**
 * Returns the query key of the userName that was searched for. It is personal data: it must not be in the address or the
 * browser's history, and signing out clears it.
 */
export function searchedName(userId: string): readonly string[] {
  return ['searched-name', userId]
}
