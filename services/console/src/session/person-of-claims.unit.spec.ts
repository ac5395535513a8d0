import { describe, expect, it } from 'vitest'
import { claimIn, nameOfClaims, roleOfClaims } from './person-of-claims.ts'

const rules = (claim: string) => ({ claim, operators: ['ops', 'admins'], viewers: ['staff'] })

describe('claimIn', () => {
  it('finds a claim by its name, also one with dots, or by its path', () => {
    expect(claimIn({ groups: ['ops'] }, 'groups')).toEqual(['ops'])
    expect(claimIn({ realm_access: { roles: ['ops'] } }, 'realm_access.roles')).toEqual(['ops'])
    expect(claimIn({ 'https://example.com/roles': 'ops' }, 'https://example.com/roles')).toBe('ops')
    expect(claimIn({ 'a.b': 'by name', a: { b: 'by path' } }, 'a.b')).toBe('by name')
  })

  it('finds nothing where there is no claim', () => {
    for (const claims of [{}, { a: 'b' }, { a: null }, { a: ['b'] }, { a: {} }])
      expect(claimIn(claims, 'a.b')).toBeUndefined()
    expect(claimIn({}, 'constructor.name')).toBeUndefined()
  })
})

describe('roleOfClaims', () => {
  it.each([
    [{ groups: ['staff', 'ops'] }, 'operator'],
    [{ groups: ['else', 'staff'] }, 'viewer'],
    [{ groups: 'admins' }, 'operator'],
    [{ groups: 'staff' }, 'viewer'],
    [{ groups: [] }, undefined],
    [{ groups: ['OPS', 'ops2', 'o'] }, undefined],
    [{ groups: { ops: true } }, undefined],
    [{ groups: [['ops']] }, undefined],
    [{ groups: null }, undefined],
    [{}, undefined],
  ])('maps %o to %s', (claims, role) => {
    expect(roleOfClaims(claims, rules('groups'))).toBe(role)
  })
})

describe('nameOfClaims', () => {
  it('takes the first name with visible characters', () => {
    expect(nameOfClaims({ sub: '1', name: 'Ada Lovelace', email: 'ada@example.com' })).toBe('Ada Lovelace')
    expect(nameOfClaims({ sub: '1', name: ' \u202E ', preferred_username: 3, email: 'ada@example.com' })).toBe(
      'ada@example.com',
    )
    expect(nameOfClaims({ sub: '1' })).toBe('1')
  })

  it('removes control characters, and cuts long names', () => {
    expect(nameOfClaims({ name: 'Ada\n{"by":"Eve"}\u202E' })).toBe('Ada{"by":"Eve"}')
    expect(nameOfClaims({ name: '𝒜'.repeat(70) })).toBe('𝒜'.repeat(60))
  })
})
