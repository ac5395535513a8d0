import { OrganizationConfig, readKeys } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emptyCatalog, foldCatalog, foldUndecodable, lookupsOf, nextRevision } from './fold-catalog.ts'
import type { CatalogRecord } from './read-catalog-record.ts'
import { staticCatalog } from '../test/static-catalog.ts'

const HASH = 'a'.repeat(64)
const revoked = 'e'.repeat(64)

type Configured = Extract<CatalogRecord, { outcome: 'read' }>

function configured(organization: string, revision: number, config?: object | null): Configured {
  return {
    outcome: 'read',
    id: crypto.randomUUID(),
    organization,
    revision,
    config: config === null ? null : OrganizationConfig.parse({ id: organization, ...config }),
    notUnderstood: [],
  }
}

const shop = (...keys: readonly object[]) => ({ id: 'shop', keys, formCooldown: 'of a later version' })
const keyOf = (sha256: string) => ({ name: 'web', kind: 'sdk', environment: 'P', sha256 })

/** A record of which only this is understood. */
function unreadable(organization: string, revision?: number, project?: object): CatalogRecord {
  const keys = readKeys({ projects: project ? [project] : [] })
  return { outcome: 'unreadable', organization, revision, keys, reason: 'config.plan: of a later version' }
}

/** A project with one key. */
function withKey(name: string, sha256 = HASH) {
  return { projects: [{ id: 'shop', keys: [{ name, kind: 'admin', environment: 'P', sha256 }] }] }
}

function fold(...records: readonly CatalogRecord[]) {
  const state = emptyCatalog()
  const counted = records.map((record) => foldCatalog(state, record))
  return { counted, ...lookupsOf(state) }
}

describe('the catalog', () => {
  it('counts a record with a greater revision than before, and no other', () => {
    const { counted, revision } = fold(
      configured('acme', 2),
      configured('acme', 1),
      configured('acme', 2),
      configured('acme', 4),
      configured('acme', 3),
      configured('other', 7),
    )
    expect(counted).toEqual([true, false, false, true, false, true])
    expect([revision('acme'), revision('other'), revision('nobody')]).toEqual([4, 7, 0])
  })

  it('is the same after a compaction, which keeps the latest record', () => {
    const records = [
      configured('acme', 1, withKey('one')),
      configured('acme', 2, withKey('two')),
      configured('acme', 3),
    ]
    expect(fold(records[2]!).revision('acme')).toBe(3)
    expect(fold(records[1]!, records[2]!).keyByHash(HASH)).toBeUndefined()
  })

  it('prepares the sets of a project for look-ups', () => {
    const catalog = staticCatalog([
      OrganizationConfig.parse({
        id: 'acme',
        plan: { eventsPerMonth: 10 },
        projects: [
          {
            id: 'shop',
            allowedFields: ['email'],
            traits: [{ slug: 'note', enabled: false }, { slug: 'plan' }],
            events: [{ slug: 'Legacy Click', enabled: false }],
          },
        ],
      }),
    ])
    const project = catalog.project('acme', 'shop')
    expect(project).toMatchObject({ organization: 'acme', project: 'shop', revision: 1, plan: { eventsPerMonth: 10 } })
    expect(project?.allowedFields).toEqual(new Set(['email']))
    expect(project?.disabledTraits).toEqual(new Set(['note']))
    expect(project?.disabledEvents).toEqual(new Set(['legacy_click']))
    expect([project?.declaredTraits, project?.declaredEvents]).toEqual([new Set(['plan']), new Set()])
    expect([...catalog.projects()]).toEqual([project])
  })

  it('finds a project named constructor, and no missing project', () => {
    const { project } = fold(configured('constructor', 1, { projects: [{ id: 'constructor' }] }))
    expect(project('constructor', 'constructor')?.project).toBe('constructor')
    expect(project('constructor', 'shop')).toBeUndefined()
    expect(project('shop', 'constructor')).toBeUndefined()
  })

  it('forgets a key that the next revision no longer has', () => {
    const { keyByHash } = fold(
      configured('acme', 1, withKey('backend')),
      configured('acme', 2, { projects: [{ id: 'shop' }] }),
    )
    expect(keyByHash(HASH)).toBeUndefined()
  })

  it('removes an organization and holds its revision', () => {
    const { keyByHash, projects, revision } = fold(
      configured('acme', 1, withKey('backend')),
      configured('acme', 2, null),
    )
    expect(keyByHash(HASH)).toBeUndefined()
    expect([...projects()]).toEqual([])
    expect(revision('acme')).toBe(2)
  })

  it('names the first of many forms that are not understood, and their number', () => {
    const notUnderstood = Array.from({ length: 25 }, (_, nth) => ({
      project: 'shop',
      kind: 'form' as const,
      id: `f${nth}`,
      reason: 'of a later version',
    }))
    const [problem] = fold({ ...configured('acme', 1), notUnderstood }).problems()
    expect(problem?.reason.split('; ').slice(-2)).toEqual([expect.stringMatching(/^shop: form f19 /), '5 more'])
  })

  describe('with a record that cannot be read', () => {
    const [web, other] = ['b'.repeat(64), 'c'.repeat(64)]

    it('takes the keys that the record names, and keeps everything else', () => {
      const { keyByHash, project, revision, problems } = fold(
        configured('acme', 1, withKey('backend')),
        unreadable('acme', 2, shop(keyOf(web))),
      )
      expect(keyByHash(HASH)).toBeUndefined()
      expect(keyByHash(web)?.entry.kind).toBe('sdk')
      expect([revision('acme'), project('acme', 'shop')?.revision]).toEqual([1, 1])
      expect(problems()).toEqual([
        { organization: 'acme', revision: 2, usedRevision: 1, reason: 'config.plan: of a later version' },
      ])
    })

    it('refuses a key with a member that is not understood', () => {
      const limited = { ...keyOf(HASH), expiresAt: '2026-12-01T00:00:00.000Z' }
      const { keyByHash } = fold(configured('acme', 1, withKey('backend')), unreadable('acme', 2, shop(limited)))
      expect(keyByHash(HASH)).toBeUndefined()
    })

    it('refuses every key of the organization, and of no other, if its revision cannot be read', () => {
      const { keyByHash, revision } = fold(
        configured('acme', 1, withKey('backend')),
        configured('other', 1, withKey('their', other)),
        unreadable('acme', undefined, shop(keyOf(HASH), keyOf(revoked))),
      )
      expect(keyByHash(HASH)).toBeUndefined()
      expect(keyByHash(revoked)).toBeUndefined()
      expect(keyByHash(other)?.project.organization).toBe('other')
      expect(revision('acme')).toBe(1)
    })

    it('continues with the next readable record', () => {
      const { counted, keyByHash, revision, problems } = fold(
        configured('acme', 1),
        unreadable('acme', 2),
        unreadable('acme'),
        configured('acme', 2),
        configured('acme', 3, withKey('backend')),
      )
      expect(counted).toEqual([true, true, true, false, true])
      expect(keyByHash(HASH)?.entry.name).toBe('backend')
      expect([revision('acme'), problems()]).toEqual([3, []])
    })

    it('has no project in a process without an older record', () => {
      const { keyByHash, projects, problems } = fold(unreadable('acme', 2, shop(keyOf(HASH))))
      expect([keyByHash(HASH), [...projects()]]).toEqual([undefined, []])
      expect(problems()).toMatchObject([{ revision: 2, usedRevision: 0 }])
    })
  })

  it('leaves a key with the organization that had it first', () => {
    const { keyByHash } = fold(configured('acme', 1, withKey('mine')), configured('thief', 1, withKey('taken')))
    expect(keyByHash(HASH)?.project.organization).toBe('acme')
  })

  it('leaves a key there when that organization applies again, and moves it when it is released', () => {
    const [mine, taken] = [configured('acme', 1, withKey('mine')), configured('thief', 1, withKey('taken'))]
    const again = configured('acme', 2, { ...withKey('renamed'), plan: { eventsPerMonth: 10 } })
    const { keyByHash } = fold(mine, taken, again)
    expect(keyByHash(HASH)).toMatchObject({
      entry: { name: 'renamed' },
      project: { organization: 'acme', revision: 2 },
    })
    const takenAgain = configured('thief', 2, withKey('taken again'))
    expect(fold(mine, taken, again, takenAgain).keyByHash(HASH)?.project.organization).toBe('acme')
    const released = configured('acme', 3, {})
    expect(fold(mine, taken, again, released).keyByHash(HASH)?.project.organization).toBe('thief')
  })

  it.each([
    ['is released first', ['acme', 'other']],
    ['is taken first', ['other', 'acme']],
  ])('lets a key move to another organization if it %s', (_name, order) => {
    const moves = new Map([
      ['acme', configured('acme', 2, {})],
      ['other', configured('other', 1, withKey('moved'))],
    ])
    const { keyByHash } = fold(configured('acme', 1, withKey('mine')), ...order.map((id) => moves.get(id)!))
    expect(keyByHash(HASH)?.project.organization).toBe('other')
  })

  it('lets exactly one of two racing appliers win each revision, however their records interleave', () => {
    const applier = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 })
    fc.assert(
      fc.property(applier, applier, fc.array(fc.boolean(), { maxLength: 40 }), (one, two, schedule) => {
        // Each step of the schedule: one of the two reads the log, or publishes what follows from what it read last.
        const log: Configured[] = []
        const appliers = [one, two].map((steps) => ({ steps: [...steps], read: 0 }))
        for (const isSecond of schedule) {
          const current = appliers[isSecond ? 1 : 0]!
          const step = current.steps.shift()
          if (step === 0) current.read = fold(...log).revision('acme')
          else if (step !== undefined) log.push(configured('acme', current.read + 1))
        }
        const { counted, revision } = fold(...log)
        const winners = log.filter((_, index) => counted[index]).map((record) => record.revision)
        expect(winners).toEqual(Array.from({ length: revision('acme') }, (_, index) => index + 1))
        // The first of equal revisions wins, and reading the log again, or in parts, tells the same.
        for (const [index, record] of log.entries()) {
          const isFirst = log.findIndex((other) => other.revision === record.revision) === index
          expect(counted[index]).toBe(isFirst)
        }
        expect(fold(...log, ...log).revision('acme')).toBe(revision('acme'))
      }),
    )
  })
})

describe('a batch that cannot be decoded', () => {
  const batch = { error: new Error('The batch at offsets 5 to 7 of catalog/0 cannot be decoded: why'), records: 3 }

  function given(...before: readonly CatalogRecord[]) {
    const state = emptyCatalog()
    for (const record of before) foldCatalog(state, record)
    foldUndecodable(state, batch)
    return { state, ...lookupsOf(state) }
  }

  it('leaves each organization and its keys in force, with a problem until its next record', () => {
    const { state, revision, keyByHash, problems } = given(
      configured('acme', 4, withKey('mine')),
      configured('other', 7),
    )
    expect([revision('acme'), keyByHash(HASH)?.entry.name]).toEqual([4, 'mine'])
    expect(problems()).toMatchObject([
      { organization: 'acme', revision: null, usedRevision: 4, isUndecodable: true },
      { organization: 'other', revision: null, usedRevision: 7, isUndecodable: true },
    ])
    expect(foldCatalog(state, configured('acme', 4))).toBe(false)
    expect(problems()).toHaveLength(2)
    expect(foldCatalog(state, configured('acme', 8))).toBe(true)
    expect(problems()).toMatchObject([{ organization: 'other' }])
  })

  it('may have used the next revisions, so that the next record skips them, once', () => {
    const { state } = given(configured('acme', 4))
    expect([nextRevision(state, 'acme'), nextRevision(state, 'new')]).toEqual([8, 4])
    foldUndecodable(state, { ...batch, records: 2 })
    expect([nextRevision(state, 'acme'), nextRevision(state, 'new')]).toEqual([10, 6])
    foldCatalog(state, configured('acme', 10))
    expect(nextRevision(state, 'acme')).toBe(11)
  })

  it('is no problem of a removed organization, and does not hide another problem', () => {
    const removed = [configured('gone', 1), configured('gone', 2, null)]
    const { problems } = given(...removed, configured('acme', 1), unreadable('acme', 2))
    expect(problems()).toMatchObject([{ organization: 'acme', revision: 2 }])
    expect(problems()[0]).not.toHaveProperty('isUndecodable')
  })
})
