import { createHmac } from 'node:crypto'

/** The password of a login role, if nobody chose one. Whoever shares the server has to use the same secret. */
export function rolePassword(secret: string, role: string): string {
  return createHmac('sha256', secret).update(role).digest('base64url')
}

/** The same server and database, as another role. `role` and `password` as they stand in an address. */
export function asRole(address: string | URL, role: string, password: string): string {
  const own = new URL(address)
  own.username = role
  own.password = password
  return own.href
}
