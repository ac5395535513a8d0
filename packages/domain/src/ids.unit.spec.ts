import * as fc from 'fast-check'
import { v5 } from 'uuid'
import { describe, expect, it } from 'vitest'
import { projectNamespace, userIdOf, uuidV5 } from './ids.ts'

describe('the ids of users', () => {
  it('are UUIDs as in the example of RFC 9562', () => {
    expect(uuidV5('www.example.com', '6ba7b810-9dad-11d1-80b4-00c04fd430c8')).toBe(
      '2ed6657d-e927-568b-95e1-2665a8aea6a2',
    )
  })

  it('are the same UUIDs as those of a slower library', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.uuid(), (name, namespace) => {
        fc.pre(name.isWellFormed())
        expect(uuidV5(name, namespace)).toBe(v5(name, namespace))
      }),
    )
  })

  it('never change (decisions.md, Identify, userId)', () => {
    expect(userIdOf('acme', 'shop', 'ada')).toBe('c5c477c8-0fa7-5cd7-b79b-052599051c5b')
    expect(userIdOf('acme', 'shop', 'ada')).toBe(uuidV5('ada', projectNamespace('acme', 'shop')))
  })

  it('depend on the exact userName, with its spaces and case', () => {
    const names = ['ada', 'Ada', ' ada', 'ada ', 'a\u0308', '\u00e4']
    expect(new Set(names.map((name) => userIdOf('acme', 'shop', name))).size).toBe(names.length)
  })

  it('depend on name and project only, also after similar ones', () => {
    const few = fc.constantFrom('a', 'aa')
    const users = fc.array(fc.tuple(few, few, fc.constantFrom('a', 'aa', 'a/a', '/', '')))
    fc.assert(
      fc.property(users, (asked) => {
        for (const [organization, project, userName] of asked)
          expect(userIdOf(organization, project, userName)).toBe(
            uuidV5(userName, projectNamespace(organization, project)),
          )
      }),
    )
  })

  it('differ between projects', () => {
    const id = fc.stringMatching(/^[a-z0-9-]{1,63}$/)
    fc.assert(
      fc.property(id, id, id, id, fc.string({ unit: 'binary' }), (o1, p1, o2, p2, userName) => {
        const same = o1 === o2 && p1 === p2
        expect(userIdOf(o1, p1, userName) === userIdOf(o2, p2, userName)).toBe(same)
      }),
    )
  })
})
