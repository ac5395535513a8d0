import { describe, expect, it } from 'vitest'
import { userIdOf, uuidV5 } from './uuid-v5.ts'

describe('a UUIDv5', () => {
  it('matches RFC 9562, appendix A.4', () => {
    const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'
    expect(uuidV5('www.example.com', dns)).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2')
  })

  it('differs for the same name in another project', () => {
    expect(userIdOf('acme', 'shop', 'ada')).not.toBe(userIdOf('acme', 'app', 'ada'))
  })
})
