/** Standard Webhooks 1.0, Symmetric signatures. */
const PREFIX = 'whsec_'
const MIN_BYTES = 24
const MAX_BYTES = 64

/** Creates the secret of an endpoint of webhooks: `whsec_` and base64. `random` is 24 to 64 bytes from a cryptographic source. */
export function createWebhookSecret(random: Uint8Array): string {
  if (random.length < MIN_BYTES || random.length > MAX_BYTES)
    throw new RangeError(`createWebhookSecret needs ${MIN_BYTES} to ${MAX_BYTES} random bytes`)
  return PREFIX + Buffer.from(random).toString('base64')
}

/** Returns the bytes that sign with a secret, `whsec_` and base64 of 24 to 64 bytes. undefined: it is malformed. */
export function parseWebhookSecret(text: string): Buffer | undefined {
  if (!text.startsWith(PREFIX)) return undefined
  const base64 = text.slice(PREFIX.length)
  const bytes = Buffer.from(base64, 'base64')
  // Node skips characters that are no base64, and receivers may not.
  const isExact = bytes.toString('base64') === base64
  return isExact && bytes.length >= MIN_BYTES && bytes.length <= MAX_BYTES ? bytes : undefined
}
