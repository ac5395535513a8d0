import { createHash } from 'node:crypto'

/** Namespace of the product's ids (decisions.md, Identify). */
const PRODUCT = 'e1c55cb5-3a47-5d0c-9a06-2d7f1f1c6a3e'

/** Returns a UUIDv5 (RFC 9562). */
export function uuidV5(name: string, namespace: string): string {
  const hash = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name, 'utf8')
    .digest()
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  const hex = hash.toString('hex', 0, 16)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

export function userIdOf(organization: string, project: string, userName: string): string {
  return uuidV5(userName, uuidV5(`${organization}/${project}`, PRODUCT))
}
