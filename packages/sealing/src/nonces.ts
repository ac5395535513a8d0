import { randomFillSync } from 'node:crypto'

export const NONCE_BYTES = 12

/** Random bytes for nonces, each used once. To draw them one by one takes a tenth of the time of an encryption. */
const nonces = Buffer.alloc(512 * NONCE_BYTES)
let nonceAt = nonces.length

/** Writes a random nonce, which no other text gets, to a place in a buffer. */
export function writeNonce(target: Buffer, at: number): void {
  if (nonceAt === nonces.length) {
    randomFillSync(nonces)
    nonceAt = 0
  }
  nonces.copy(target, at, nonceAt, nonceAt + NONCE_BYTES)
  nonceAt += NONCE_BYTES
}
