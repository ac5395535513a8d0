import { OrganizationConfig, type OrganizationConfigured } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emptyCatalog, foldCatalog, lookupsOf } from './fold-catalog.ts'
import { staticCatalog } from './static-catalog.ts'

const HASH = 'a'.repeat(64)

function configured(organization: string, revision: number, config?: object | null): OrganizationConfigured {
  return {
    type: 'OrganizationConfigured',
    id: crypto.randomUUID(),
    organization,
    revision,
    config: config === null ? null : OrganizationConfig.parse({ id: organization, ...config }),
    appliedAt: '2026-11-02T10:00:00.000Z',
    appliedBy: 'somebody',
  }
}

/** A project with one key. */
function withKey(name: string, sha256 = HASH) {
  return { projects: [{ id: 'shop', keys: [{ name, kind: 'admin', environment: 'P', sha256 }] }] }
}

function fold(...records: readonly OrganizationConfigured[]) {
  const state = emptyCatalog()
  const counted = records.map((record) => foldCatalog(state, record))
  return { counted, ...lookupsOf(state) }
}

describe('the catalog', () => {
  it('counts a record that follows the revision held, and no other', () => {
    const { counted, revision } = fold(
      configured('acme', 2),
      configured('acme', 1),
      configured('acme', 1),
      configured('acme', 3),
      configured('acme', 2),
      configured('other', 1),
    )
    expect(counted).toEqual([false, true, false, false, true, true])
    expect([revision('acme'), revision('other'), revision('nobody')]).toEqual([2, 1, 0])
  })

  it('prepares what is looked up in a project', () => {
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

  it('finds a project whose id is a word of the language, and none that is not there', () => {
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

  it('leaves a key with the organization that had it first', () => {
    const { keyByHash } = fold(configured('acme', 1, withKey('mine')), configured('thief', 1, withKey('taken')))
    expect(keyByHash(HASH)?.project.organization).toBe('acme')
  })

  it.each([
    ['is released first', ['acme', 'other']],
    ['is taken first', ['other', 'acme']],
  ])('lets a key move to another organization, whether it %s', (_name, order) => {
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
        const log: OrganizationConfigured[] = []
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
