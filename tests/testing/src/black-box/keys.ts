import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The value of the workspace file's `$SIGNING_SECRET`. */
export const SIGNING_SECRET = 'a secret that only the customer and the project know'

/**
 * Returns the key for a variable of the workspace file, whose last two words are kind and environment. Implements
 * decisions.md (Keys) independently of the product's code.
 */
export function keyNamed(variable: string): string {
  const [, kind = '', environment = ''] = /_(ADMIN|SDK)_([PT])$/.exec(variable) ?? []
  const secret = createHash('sha256').update(variable).digest('hex').slice(0, 32)
  return withChecksum(`nv_${kind.toLowerCase()}_${environment}_${secret}`)
}

/** Appends the checksum: the CRC-32 of everything before it, in base62, padded with 0 to 6. */
export function withChecksum(head: string): string {
  let rest = crc32(head)
  let checksum = ''
  for (let place = 0; place < 6; place += 1) {
    checksum = DIGITS.charAt(rest % 62) + checksum
    rest = Math.floor(rest / 62)
  }
  return head + checksum
}

/** Returns the variables that a workspace file names, with their values. */
export function workspaceVariables(file: string): ReadonlyMap<string, string> {
  const keys = [...file.matchAll(/secret: \$(\w+)/g)].flatMap(([, variable]) => (variable ? [variable] : []))
  return new Map([
    ...keys.map((variable) => [variable, keyNamed(variable)] as const),
    ['SIGNING_SECRET', SIGNING_SECRET],
  ])
}
