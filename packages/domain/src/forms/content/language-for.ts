import type { FormContent } from '@nextvisit/contracts'

/** Tags of callers that are longer match no language. */
const MAX_TAG_CHARACTERS = 100

/**
 * Chooses the language of a content for a user with these preferences, best first. Each preference is compared ignoring
 * case, then without its last part, as `de-CH` and `de`. If none matches, returns the default: the first language.
 */
export function languageFor(
  { languages }: Pick<FormContent, 'languages'>,
  preferred: readonly (string | undefined)[],
): string {
  const byTag = new Map(languages.map((language) => [language.toLowerCase(), language]))
  for (const preference of preferred) {
    if (preference === undefined || preference.length > MAX_TAG_CHARACTERS) continue
    const parts = preference.trim().toLowerCase().split(/[-_]/)
    for (let length = parts.length; length > 0; length -= 1) {
      const found = byTag.get(parts.slice(0, length).join('-'))
      if (found !== undefined) return found
    }
  }
  return languages[0] ?? ''
}
