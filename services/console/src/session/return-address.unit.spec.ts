import { describe, expect, it } from 'vitest'
import { returnAddress } from './return-address.ts'

const base = new URL('https://example.com/ops/nextvisit/')

describe('returnAddress', () => {
  it('returns to a page of the console', () => {
    const page = 'https://example.com/ops/nextvisit/users/demo/shop/x?tab=forms&tz=utc'
    expect(returnAddress(base, '/ops/nextvisit/users/demo/shop/x?tab=forms&tz=utc')).toBe(page)
    expect(returnAddress(base, page)).toBe(page)
    expect(returnAddress(base, 'live')).toBe('https://example.com/ops/nextvisit/live')
  })

  it.each([
    'https://evil.example/',
    '//evil.example/ops/nextvisit/',
    '/\\evil.example/ops/nextvisit/',
    String.raw`\\evil.example`,
    'javascript:alert(1)',
    'https://example.com.evil.example/ops/nextvisit/',
    'https://example.com@evil.example/ops/nextvisit/',
    'http://example.com/ops/nextvisit/',
    'https://example.com:8443/ops/nextvisit/',
    '/ops/nextvisit/../elsewhere',
    '/ops/nextvisit/%2e%2e/elsewhere',
    '/ops/nextvisit.evil',
    '/',
    '/ops/nextvisit/api/session/begin',
    '/ops/nextvisit/API/session/begin',
    'http://[',
    `/ops/nextvisit/${'x'.repeat(2_000)}`,
    ['/ops/nextvisit/live'],
    undefined,
  ])('returns to the Overview instead of %s', (wanted) => {
    expect(returnAddress(base, wanted)).toBe(base.href)
  })
})
