import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createWebhookSecret, parseWebhookSecret } from './webhook-secret.ts'

describe('the secret of an endpoint of webhooks', () => {
  it.each([24, 25, 26, 32, 64])('holds %i bytes', (length) => {
    const random = randomBytes(length)
    const secret = createWebhookSecret(random)
    expect(secret).toMatch(/^whsec_/)
    expect(parseWebhookSecret(secret)).toEqual(random)
  })

  it('is never created of fewer or more bytes', () => {
    for (const length of [0, 23, 65]) expect(() => createWebhookSecret(randomBytes(length))).toThrow(RangeError)
  })

  const base64 = randomBytes(25).toString('base64')
  it.each([
    ['without its prefix', base64],
    ['of too few bytes', `whsec_${randomBytes(23).toString('base64')}`],
    ['of too many bytes', `whsec_${randomBytes(65).toString('base64')}`],
    ['without its padding', `whsec_${base64.replaceAll('=', '')}`],
    ['with a line break', `whsec_${base64}\n`],
    ['in base64url', `whsec_${Buffer.alloc(24, 0xfb).toString('base64url')}`],
    ['of nothing', 'whsec_'],
  ])('is malformed %s', (_name, text) => expect(parseWebhookSecret(text)).toBeUndefined())
})
