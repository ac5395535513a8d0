const NAMES = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })

/** Names a language tag of a workspace file: `German (de)`. Unknown tags stay as they are. */
export function nameOfLanguage(tag: string): string {
  const name = known(tag)
  return name === undefined ? tag : `${name} (${tag})`
}

function known(tag: string): string | undefined {
  try {
    return NAMES.of(tag)
  } catch {
    // The workspace file accepts tags that are not well-formed, such as `en-1`.
    return undefined
  }
}
