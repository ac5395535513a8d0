import { firstCharacters } from '@nextvisit/contracts'
import type { Role } from '../http/define-route.ts'
import { MAX_NAME_CHARACTERS } from '../shared-with-pages.ts'

/** Claims of an ID token or of the userinfo endpoint. */
export type Claims = Readonly<Record<string, unknown>>

/** The claim that gives roles, and its values. */
export interface RoleRules {
  /** The name of the claim, or its path: `groups`, `realm_access.roles`, `https://example.com/roles`. */
  readonly claim: string
  /** Each of these values makes an operator. */
  readonly operators: readonly string[]
  /** Each of these values makes a viewer. */
  readonly viewers: readonly string[]
}

/** Returns the value of a claim; undefined: it is missing. A claim with exactly this name precedes a path. */
export function claimIn(claims: Claims, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim]
  return claim.split('.').reduce<unknown>((value, name) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return Object.hasOwn(value, name) ? (value as Claims)[name] : undefined
  }, claims)
}

/** Returns the role of a person; undefined: none. A person with both roles is an operator. A text is a list of one. */
export function roleOfClaims(claims: Claims, { claim, operators, viewers }: RoleRules): Role | undefined {
  const value = claimIn(claims, claim)
  const given: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (operators.some((one) => given.includes(one))) return 'operator'
  if (viewers.some((one) => given.includes(one))) return 'viewer'
  return undefined
}

/** Returns the name to show: the first of `name`, `preferred_username`, `email` and `sub` that has visible characters. */
export function nameOfClaims(claims: Claims): string {
  const names = [claims['name'], claims['preferred_username'], claims['email'], claims['sub']]
  const [name = ''] = names
    .filter((given) => typeof given === 'string')
    // Control characters, also of bidirectional text, could disguise a line of the log.
    .map((given) => given.replaceAll(/\p{C}/gu, '').trim())
    .filter((given) => given !== '')
  return firstCharacters(name, MAX_NAME_CHARACTERS)
}
