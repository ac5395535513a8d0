import { randomBytes, randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { signAttempt } from './signature.ts'

function newSecret(bytes = 32): string {
  return `whsec_${randomBytes(bytes).toString('base64')}`
}

const delivery = { webhookId: randomUUID(), body: '{"type":"form.queued"}' }

describe('the signature of an attempt', () => {
  it('is verified by the library of Standard Webhooks, for any body and any length of the secret', () => {
    const cases = fc.record({
      body: fc.oneof(fc.json(), fc.string({ unit: 'binary' })),
      bytes: fc.integer({ min: 24, max: 64 }),
    })
    fc.assert(
      fc.property(cases, ({ body, bytes }) => {
        const secret = newSecret(bytes)
        const headers = signAttempt({ ...delivery, body }, { secret }, new Date())
        expect(() => verify(secret, body, headers)).not.toThrow()
        expect(() => verify(secret, `${body} `, headers)).toThrow('No matching signature found')
        expect(() => verify(newSecret(), body, headers)).toThrow('No matching signature found')
      }),
    )
  })

  it('is made with both secrets during a rotation, and with the new one afterwards', () => {
    const [secret, old] = [newSecret(), newSecret()]
    const at = new Date()
    const rotatedUntil = (ms: number) => ({ secret: old, until: new Date(at.getTime() + ms).toISOString() })

    const during = signAttempt(delivery, { secret, previous: rotatedUntil(1) }, at)
    for (const one of [secret, old]) expect(() => verify(one, delivery.body, during)).not.toThrow()

    const after = signAttempt(delivery, { secret, previous: rotatedUntil(0) }, at)
    expect(() => verify(secret, delivery.body, after)).not.toThrow()
    expect(() => verify(old, delivery.body, after)).toThrow('No matching signature found')
  })

  it('has the time of the attempt, which the library compares with its clock', () => {
    const secret = newSecret()
    const headers = signAttempt(delivery, { secret }, new Date(Date.now() - 6 * 60_000))
    expect(() => verify(secret, delivery.body, headers)).toThrow('Message timestamp too old')
    expect(signAttempt(delivery, { secret }, new Date(1_999))['webhook-timestamp']).toBe('1')
  })

  it('needs a secret of 24 to 64 bytes', () => {
    for (const secret of ['', 'whsec_', 'whsec_short', 'a'.repeat(40), newSecret(23), newSecret(65)])
      expect(() => signAttempt(delivery, { secret }, new Date())).toThrow('must be whsec_ and the base64')
  })
})

function verify(secret: string, body: string, headers: ReturnType<typeof signAttempt>): void {
  // It parses the body once the signature is right.
  try {
    new Webhook(secret).verify(body, { ...headers })
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
}
