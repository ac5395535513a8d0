import { createHmac } from 'node:crypto'
import { parseWebhookSecret } from '@nextvisit/domain'

/** The secrets of an endpoint. During a rotation, the previous one signs, too. */
export interface SigningSecrets {
  readonly secret: string
  readonly previous?: { readonly secret: string; readonly until: string } | undefined
}

export interface SignedHeaders {
  readonly 'webhook-id': string
  /** Seconds since the epoch. */
  readonly 'webhook-timestamp': string
  /** `v1,<base64>`, for each secret, separated by spaces. */
  readonly 'webhook-signature': string
}

/** Signs an attempt as Standard Webhooks 1.0 says. `at`: the instant of the attempt. */
export function signAttempt(
  { webhookId, body }: { readonly webhookId: string; readonly body: string },
  { secret, previous }: SigningSecrets,
  at: Date,
): SignedHeaders {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const secrets = previous && Date.parse(previous.until) > at.getTime() ? [secret, previous.secret] : [secret]
  const signed = `${webhookId}.${timestamp}.${body}`
  const signatures = secrets.map((one) => `v1,${createHmac('sha256', keyOf(one)).update(signed).digest('base64')}`)
  return {
    'webhook-id': webhookId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

/** Throws a `TypeError` for a text that `apply` does not accept as a secret. */
function keyOf(secret: string): Buffer {
  const key = parseWebhookSecret(secret)
  if (!key) throw new TypeError('A secret of a webhook must be whsec_ and the base64 of 24 to 64 bytes')
  return key
}
