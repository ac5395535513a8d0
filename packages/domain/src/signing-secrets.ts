/** Maximum number of signing secrets of a project, during a rotation. */
export const MAX_SIGNING_SECRETS = 3

/**
 * Returns the secrets in a `signingSecret`. During a rotation, it has several, separated by commas: each may sign. Everyone knows
 * an empty one, so it is none.
 */
export function signingSecretsIn(text: string): readonly string[] {
  return text.split(',').flatMap((one) => one.trim() || [])
}
