import { createHmac } from 'node:crypto'

/** Returns the default password of a login role. All processes that share the server must use the same secret. */
export function rolePassword(secret: string, role: string): string {
  return createHmac('sha256', secret).update(role).digest('base64url')
}

/** Returns the address with another role. `role` and `password` must be encoded as in an address. */
export function asRole(address: string | URL, role: string, password: string): string {
  const own = new URL(address)
  own.username = role
  own.password = password
  return own.href
}
