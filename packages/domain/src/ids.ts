import { v5 } from 'uuid'

/** A constant of the product: with another one every user would get another id. */
const NEXTVISIT_NAMESPACE = 'e1c55cb5-3a47-5d0c-9a06-2d7f1f1c6a3e'

/** The UUID, version 5, of a name in a namespace (itself a UUID). */
export function uuidV5(name: string, namespace: string): string {
  return v5(name, namespace)
}

/** The namespace that a project's ids live in. Ids of organizations and projects hold no `/`. */
export function projectNamespace(organization: string, project: string): string {
  return uuidV5(`${organization}/${project}`, NEXTVISIT_NAMESPACE)
}

/**
 * The id of a user: the same for ever, on any gateway, with no look-up (decisions.md, Identify). `userName` is taken
 * exactly as given and must be well-formed: lone surrogates would collide as bytes.
 */
export function userIdOf(organization: string, project: string, userName: string): string {
  return uuidV5(userName, projectNamespace(organization, project))
}
