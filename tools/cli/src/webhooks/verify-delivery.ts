import { createHmac, timingSafeEqual } from 'node:crypto'
import { parseWebhookSecret } from '@nextvisit/domain'

/** Maximum distance between the clocks of sender and receiver. */
const TOLERANCE_MS = 300_000

interface SignedDelivery {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Verifies a delivery as a receiver does (Standard Webhooks 1.0). Returns the fault; undefined: it is valid. */
export function faultOfDelivery({ headers, body }: SignedDelivery, secret: string, nowMs: number): string | undefined {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (id === undefined || timestamp === undefined || signatures === undefined) return 'a header is missing'
  if (!/^\d+$/.test(timestamp) || Math.abs(nowMs - Number(timestamp) * 1_000) > TOLERANCE_MS)
    return 'webhook-timestamp differs from the clock here by more than 5 minutes'
  const key = parseWebhookSecret(secret)
  if (!key) return 'the secret is malformed'
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  const isSigned = signatures.split(' ').some((signature) => {
    const [version, base64 = ''] = signature.split(',')
    const given = Buffer.from(base64, 'base64')
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
  return isSigned ? undefined : 'no signature is valid'
}
