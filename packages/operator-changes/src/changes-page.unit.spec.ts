import { randomUUID } from 'node:crypto'
import type { ChangeEnded, ChangeRequested, OperatorChangeFact } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { type ChangeFilter, createChangesPage, LOOK_AHEAD } from './changes-page.ts'

const ACTOR = { kind: 'console', name: 'Ada Lovelace', isVerified: true, via: 'https://id.example.com' } as const

function given(special: Partial<ChangeRequested> = {}): ChangeRequested {
  const about = { kind: 'webhook.test', actor: ACTOR, organization: 'acme', project: 'shop', target: 'crm' } as const
  return { type: 'ChangeRequested', id: randomUUID(), at: '2026-11-28T10:00:00.000Z', ...about, ...special }
}

function endOf({ id, at, type: _type, lines: _lines, ...about }: ChangeRequested, special: Partial<ChangeEnded> = {}) {
  return {
    type: 'ChangeEnded',
    ...about,
    id: randomUUID(),
    changeId: id,
    requestOffset: '0',
    requestedAt: at,
    at: '2026-11-28T10:00:01.000Z',
    outcome: 'made',
    ...special,
  } satisfies ChangeEnded
}

/** Folds records at these offsets, the newest last. */
function pageOf(records: readonly (readonly [number | bigint, OperatorChangeFact])[], filter?: ChangeFilter) {
  const page = createChangesPage(filter)
  for (const [offset, fact] of records.toReversed()) page.add({ offset: BigInt(offset), fact })
  return page.changes
}

describe('a list of changes', () => {
  it('has each change once, newest first, with its end', () => {
    const [first, second] = [given({ target: 'crm' }), given({ target: 'erp' })]
    const records = [
      [0, first],
      [1, second],
      [2, endOf(second, { requestOffset: '1', outcome: 'refused', reason: 'too-many-tests' })],
      [3, endOf(first, { requestOffset: '0' })],
    ] as const
    const changes = pageOf(records)
    expect(changes).toMatchObject([
      { target: 'erp', outcome: 'refused', reason: 'too-many-tests' },
      { target: 'crm', outcome: 'made', reason: null, endedAt: '2026-11-28T10:00:01.000Z' },
    ])
  })

  it('says of a change without an end that it has begun', () => {
    expect(pageOf([[0, given()]])).toMatchObject([{ outcome: 'begun', endedAt: null }])
  })

  it('has a change once that was requested again after an interruption', () => {
    const change = given()
    expect(
      pageOf([
        [0, change],
        [1, { ...change, at: '2026-11-28T10:00:09.000Z' }],
        [2, endOf(change, { requestOffset: '1' })],
      ]),
    ).toMatchObject([{ outcome: 'made' }])
  })

  it('has the members of its request, although an end repeats others', () => {
    const change = given()
    const end = endOf(change, {
      actor: { ...ACTOR, name: 'Grace' },
      kind: 'webhook.enable',
      target: 'erp',
      project: 'blog',
    })
    expect(
      pageOf([
        [0, change],
        [1, end],
      ]),
    ).toMatchObject([{ kind: 'webhook.test', actor: ACTOR, target: 'crm', project: 'shop', outcome: 'made' }])
  })

  it('ends by the first end of its own request', () => {
    const change = given()
    const records = [
      [3, change],
      [4, endOf(change, { requestOffset: '2', outcome: 'refused' })],
      [5, endOf(change, { requestOffset: '3', outcome: 'made' })],
      [6, endOf(change, { requestOffset: '3', outcome: 'failed' })],
    ] as const
    expect(pageOf(records)).toMatchObject([{ outcome: 'made' }])
  })

  it.each<[string, Partial<ChangeRequested>]>([
    ['another one', { target: 'erp' }],
    ['the same', {}],
  ])('is not hidden by a later request with its id, of %s', (_, special) => {
    const change = given()
    const records = [
      [0, change],
      [1, endOf(change, { requestOffset: '0' })],
      [2, { ...change, ...special }],
      [3, endOf(change, { requestOffset: '2', outcome: 'refused' })],
    ] as const
    expect(pageOf(records)).toMatchObject([{ outcome: 'refused' }, { outcome: 'made', target: 'crm' }])
  })

  it('keeps the difference of the request, and the results of the end', () => {
    const change = given({ kind: 'workspace.apply', lines: ['+ acme/shop key backend'], moreLines: 2 })
    const end = endOf(change, { details: { revision: 7 } })
    expect(
      pageOf([
        [0, change],
        [1, end],
      ]),
    ).toMatchObject([{ lines: ['+ acme/shop key backend'], moreLines: 2, details: { revision: 7 } }])
  })

  it('finds ends among the records after the page', () => {
    const change = given()
    const page = createChangesPage()
    page.lookAhead([{ offset: 9n, fact: endOf(change) }])
    page.add({ offset: 0n, fact: change })
    expect(page.changes).toMatchObject([{ outcome: 'made' }])
  })

  it('lists the end for itself if it is too far from its request for the page of the request', () => {
    const change = given({ kind: 'consumer.replay' })
    expect(pageOf([[LOOK_AHEAD, endOf(change)]])).toEqual([])
    expect(pageOf([[LOOK_AHEAD + 1n, endOf(change)]])).toMatchObject([{ outcome: 'made', kind: 'consumer.replay' }])
  })

  it.each<[ChangeFilter, boolean]>([
    [{}, true],
    [{ kind: 'webhook.test' }, true],
    [{ kind: 'webhook.enable' }, false],
    [{ actor: 'ada' }, true],
    [{ actor: 'grace' }, false],
    [{ organization: 'acme', project: 'shop' }, true],
    [{ organization: 'acme', project: 'blog' }, false],
    [{ since: '2026-11-28T10:00:00.000Z' }, true],
    [{ since: '2026-11-28T10:00:00.001Z' }, false],
  ])('is filtered by %j', (filter, isListed) => {
    expect(pageOf([[0, given()]], filter)).toHaveLength(isListed ? 1 : 0)
  })
})
