import type { Input } from '../../../src/api-routes.ts'

type Environment = Input<'readFormResults'>['environment']

/** Keeps an answer visible while the next one loads, but never figures of test keys under *Production*, or the reverse. */
export function sameEnvironment(environment: Environment) {
  return <Answer>(
    last: Answer | undefined,
    query: { readonly queryKey: readonly [unknown, { readonly environment?: Environment }] } | undefined,
  ): Answer | undefined => (query?.queryKey[1].environment === environment ? last : undefined)
}
