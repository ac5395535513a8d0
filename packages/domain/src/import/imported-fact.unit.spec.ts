import { DEFAULT_ALLOWED_FIELDS, ProjectConfig, UserFact } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { userIdOf } from '../ids.ts'
import type { ProjectPolicy } from '../project-policy.ts'
import { parseImportLine } from './import-line.ts'
import { importedFact } from './imported-fact.ts'

const policy: ProjectPolicy = {
  organization: 'acme',
  project: 'shop',
  allowedFields: new Set(DEFAULT_ALLOWED_FIELDS),
  disabledTraits: new Set(['note']),
  disabledEvents: new Set(['legacy_click']),
  declaredTraits: new Set(),
  declaredEvents: new Set(),
  plan: {},
  config: ProjectConfig.parse({
    id: 'shop',
    segments: [{ id: 'big', where: { event: 'paid', atLeast: 2, where: { property: 'total', atLeast: 100 } } }],
  }),
}
const id = '00000000-0000-5000-8000-000000000000'
const received = '2026-11-02T10:00:00.000Z'

function factOf(line: object) {
  const parsed = parseImportLine(Buffer.from(JSON.stringify(line)), Date.parse(received))
  if (parsed.outcome !== 'ok') throw new Error(parsed.message)
  return importedFact(parsed.line, policy, { received, recordId: () => id })
}

describe('the record of an imported line (decisions.md, Import)', () => {
  it('is marked, unmetered and triggers no form', () => {
    const line = { type: 'track', userName: 'ada', eventName: 'Signed Up', occurredAt: '2001-01-01T00:00:00Z' }
    const made = factOf(line)
    expect(made).toEqual({
      outcome: 'ok',
      fact: {
        type: 'EventTracked',
        id,
        organization: 'acme',
        project: 'shop',
        userId: userIdOf('acme', 'shop', 'ada'),
        received,
        environment: 'P',
        source: 'admin',
        keyed: false,
        eventName: 'Signed Up',
        slug: 'signed_up',
        occurredAt: '2001-01-01T00:00:00.000Z',
        newEvent: false,
        metered: false,
        evaluateTriggers: false,
        unchecked: [],
        imported: true,
      },
    })
    expect(made.outcome === 'ok' && UserFact.parse(made.fact)).toEqual(made.outcome === 'ok' && made.fact)
  })

  it('names the property counts of the present project', () => {
    const line = { type: 'track', userName: 'ada', eventName: 'Paid', occurredAt: '2001-01-01T00:00:00Z' }
    const countsForOf = (properties: object) => {
      const made = factOf({ ...line, properties })
      return made.outcome === 'ok' && made.fact.type === 'EventTracked' && made.fact.countsFor
    }
    expect(countsForOf({ total: 100 })).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)])
    expect(countsForOf({ total: 99 })).toBeUndefined()
  })

  it('has the traits and fields that the project keeps, and the names of the rest', () => {
    const made = factOf({
      type: 'identify',
      userName: 'ada',
      userAttributes: { $set: { plan: 'pro', note: 'x', phone: '1', email: 'a@b.c' } },
      $deviceInfo: { $countryCode: 'de' },
      occurredAt: '2001-01-01T00:00:00Z',
    })
    expect(made).toMatchObject({
      outcome: 'ok',
      fact: {
        type: 'IdentifyRequested',
        operations: { set: { plan: 'pro', email: 'a@b.c' } },
        device: { $countryCode: 'DE' },
        droppedTraits: ['note'],
        filteredFields: ['phone'],
        registeredTraits: [],
        strippedTraits: [],
        occurredAt: '2001-01-01T00:00:00.000Z',
        imported: true,
      },
    })
    expect(made.outcome === 'ok' && UserFact.parse(made.fact)).toEqual(made.outcome === 'ok' && made.fact)
  })

  it('has the properties that the project keeps, and the names of the rest', () => {
    const line = { type: 'track', userName: 'ada', eventName: 'Signed Up', occurredAt: '2001-01-01T00:00:00Z' }
    const made = factOf({ ...line, properties: { total: 1, phone: '1' } })
    expect(made).toMatchObject({ outcome: 'ok', fact: { properties: { total: 1 }, filteredFields: ['phone'] } })
    expect(made.outcome === 'ok' && UserFact.parse(made.fact)).toEqual(made.outcome === 'ok' && made.fact)
    expect(factOf({ ...line, properties: null })).toEqual(factOf(line))
  })

  it('does not exist for a disabled event or an invalid device field', () => {
    const line = { type: 'track', userName: 'ada', eventName: 'Legacy Click', occurredAt: '2001-01-01T00:00:00Z' }
    expect(factOf(line)).toMatchObject({ outcome: 'rejected', message: expect.stringContaining('disabled') })
    const identify = { type: 'identify', userName: 'ada', userAttributes: { $set: { $deviceOs: 'BeOS' } } }
    expect(factOf(identify)).toMatchObject({ outcome: 'rejected', message: expect.stringContaining('$set.$deviceOs') })
  })
})
