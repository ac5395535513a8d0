import { describe, expect, it } from 'vitest'
import { createLedgerModel, type LedgerEntry } from './caller-ledger.ts'
import type { UserFact } from './facts.ts'
import { createFindings } from './findings.ts'
import { userIdOf } from './uuid-v5.ts'

const ada = { organization: 'acme', project: 'shop', userName: 'ada' } as const
const entry = (status: number | undefined, requestId: string | undefined, more: Partial<LedgerEntry> = {}) => ({
  ...ada,
  status,
  requestId,
  keyed: false,
  ...more,
})
const record = (id: string) => ({ type: 'EventTracked', id, userId: userIdOf('acme', 'shop', 'ada') }) as UserFact

function differences(entries: readonly LedgerEntry[], log: readonly string[], queuedBy = new Map<string, number>()) {
  const findings = createFindings()
  const ledger = createLedgerModel(entries)
  for (const id of log) ledger.see(record(id))
  ledger.compare(queuedBy, findings)
  return findings.byKind().map(({ kind, count }) => `${kind} ${count}`)
}

describe('the callers’ ledger against the log', () => {
  it('requires acknowledged records once, refused ones never, and allows both for 503', () => {
    const entries = [entry(200, 'a'), entry(202, 'b'), entry(402, 'c'), entry(503, 'd'), entry(503, 'e')]
    expect(differences(entries, ['a', 'b', 'd'])).toEqual([])
    expect(differences(entries, ['b', 'c', 'd', 'd', 'b'])).toEqual([
      'ledger: lost 1',
      'ledger: twice 2',
      'ledger: refused 1',
    ])
  })

  it('allows a keyed record twice', () => {
    expect(differences([entry(200, 'a', { keyed: true })], ['a', 'a'])).toEqual([])
  })

  it('requires a request for every record; a request with a broken connection matches any record of its user', () => {
    expect(differences([entry(undefined, undefined)], ['a'])).toEqual([])
    expect(differences([entry(undefined, undefined)], ['a', 'b'])).toEqual(['ledger: no request 1'])
  })

  it('requires the answered number of queued forms, and one new event', () => {
    const told = [entry(202, 'a', { formsQueued: 1, newEvent: true, eventName: 'x' })]
    expect(differences(told, ['a'], new Map([['a', 1]]))).toEqual([])
    expect(differences(told, ['a'])).toEqual(['ledger: formsQueued 1'])
    const toldNone = [entry(202, 'a', { formsQueued: 0 })]
    expect(differences(toldNone, ['a'])).toEqual([])
    expect(differences(toldNone, ['a'], new Map([['a', 1]]))).toEqual(['ledger: formsQueued 1'])
    expect(differences([entry(202, 'a')], ['a'], new Map([['a', 1]]))).toEqual([])
    expect(
      differences([...told, entry(202, 'b', { newEvent: true, eventName: 'x' })], ['a', 'b'], new Map([['a', 1]])),
    ).toEqual(['ledger: newEvent 1'])
  })
})
