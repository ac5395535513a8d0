/**
 * Under which key the queries keep the userName that was searched for. It is personal, so it stands neither in the address nor
 * in the browser's history, and signing out forgets it.
 */
export function searchedName(userId: string): readonly string[] {
  return ['searched-name', userId]
}
