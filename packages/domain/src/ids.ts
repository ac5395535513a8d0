import { hash } from 'node:crypto'
import type { ProjectRef, UserRef } from '@nextvisit/contracts'
import { memoize } from './memoize.ts'

/** A constant of the product. Changing it changes the id of every user. */
const NEXTVISIT_NAMESPACE = 'e1c55cb5-3a47-5d0c-9a06-2d7f1f1c6a3e'
const MAX_KNOWN_PROJECTS = 10_000
const MAX_KNOWN_USERS = 10_000

/** Cached: each request derives the id of its user in its project's namespace. */
const namespaceOf = memoize(MAX_KNOWN_PROJECTS, (projectKey) => uuidV5(projectKey, NEXTVISIT_NAMESPACE))

/** Cached: a server that sends one event of a user sends more. Ids of projects contain no `/`. */
const idOf = memoize(MAX_KNOWN_USERS, (userNameInProject) => {
  const projectKey = userNameInProject.split('/', 2).join('/')
  return uuidV5(userNameInProject.slice(projectKey.length + 1), namespaceOf(projectKey))
})

/**
 * Returns the version 5 UUID of a name in a namespace, which is a UUID. Throws TypeError for a name with a lone surrogate,
 * because all lone surrogates have the same bytes.
 */
export function uuidV5(name: string, namespace: string): string {
  if (!name.isWellFormed()) throw new TypeError('A name must not contain lone surrogates')
  const bytes = Buffer.allocUnsafe(16 + Buffer.byteLength(name))
  bytes.write(namespace.replaceAll('-', ''), 'hex')
  bytes.write(name, 16)
  const hex = hash('sha1', bytes)
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Returns the key of a project in a `Map`. Ids of organizations and projects contain no `/`. */
export function projectKeyOf({ organization, project }: ProjectRef): string {
  return `${organization}/${project}`
}

/** Returns the key of a user in a `Map`. */
export function userKeyOf({ organization, project, userId }: UserRef): string {
  return `${organization}/${project}/${userId}`
}

/** Returns the namespace of a project's ids. */
export function projectNamespace(organization: string, project: string): string {
  return namespaceOf(projectKeyOf({ organization, project }))
}

/**
 * Returns the id of a user: always the same, on any gateway, without a look-up (decisions.md, Identify). `userName` is taken
 * exactly as given and must be well-formed.
 */
export function userIdOf(organization: string, project: string, userName: string): string {
  return idOf(`${projectKeyOf({ organization, project })}/${userName}`)
}
