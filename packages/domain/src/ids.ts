import { hash } from 'node:crypto'
import type { ProjectRef, UserRef } from '@nextvisit/contracts'
import { remembered } from './remembered.ts'

/** A constant of the product: with another one every user would get another id. */
const NEXTVISIT_NAMESPACE = 'e1c55cb5-3a47-5d0c-9a06-2d7f1f1c6a3e'
const MAX_KNOWN_PROJECTS = 10_000
const MAX_KNOWN_USERS = 10_000

/** The namespaces of projects in use: each request derives the id of its user in one. */
const namespaceOf = remembered(MAX_KNOWN_PROJECTS, (projectKey) => uuidV5(projectKey, NEXTVISIT_NAMESPACE))

/** The ids of recent users: a server that sends an event of a user sends more. Ids of projects hold no `/`. */
const idOf = remembered(MAX_KNOWN_USERS, (userNameInProject) => {
  const projectKey = userNameInProject.split('/', 2).join('/')
  return uuidV5(userNameInProject.slice(projectKey.length + 1), namespaceOf(projectKey))
})

/**
 * The UUID, version 5, of a name in a namespace (itself a UUID). Throws TypeError for a name with a lone surrogate: all
 * of these have the same bytes.
 */
export function uuidV5(name: string, namespace: string): string {
  if (!name.isWellFormed()) throw new TypeError('A name must hold no lone surrogates')
  const bytes = Buffer.allocUnsafe(16 + Buffer.byteLength(name))
  bytes.write(namespace.replaceAll('-', ''), 'hex')
  bytes.write(name, 16)
  const hex = hash('sha1', bytes)
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Names a project in a `Map`. Ids of organizations and projects hold no `/`. */
export function projectKeyOf({ organization, project }: ProjectRef): string {
  return `${organization}/${project}`
}

/** Names a user in a `Map`. */
export function userKeyOf({ organization, project, userId }: UserRef): string {
  return `${organization}/${project}/${userId}`
}

/** The namespace that a project's ids live in. */
export function projectNamespace(organization: string, project: string): string {
  return namespaceOf(projectKeyOf({ organization, project }))
}

/**
 * The id of a user: the same for ever, on any gateway, with no look-up (decisions.md, Identify). `userName` is taken
 * exactly as given and must be well-formed: lone surrogates would collide as bytes.
 */
export function userIdOf(organization: string, project: string, userName: string): string {
  return idOf(`${projectKeyOf({ organization, project })}/${userName}`)
}
