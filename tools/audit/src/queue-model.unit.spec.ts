import { describe, expect, it } from 'vitest'
import { createCatalog } from './catalog.ts'
import type { FormFact, Queued, UserFact } from './facts.ts'
import { createFindings } from './findings.ts'
import { createQueueModel } from './queue-model.ts'
import type { Snapshot } from './snapshot.ts'
import { uuidV5 } from './uuid-v5.ts'

const CAUSE = 'e1c55cb5-3a47-4d0c-9a06-2d7f1f1c6a3e'
const OTHER = 'a1c55cb5-3a47-4d0c-9a06-2d7f1f1c6a3e'
const AT = '2026-11-02T10:00:00.000Z'
const RANGE = { first: '', last: 'z' }
const user = { organization: 'acme', project: 'shop', userId: OTHER } as const

function queued(causeId: string, special: Partial<Queued> = {}): Queued {
  const queuedId = special.queuedId ?? uuidV5(`${AT}/nps`, causeId)
  return {
    type: 'FormQueued',
    id: uuidV5('FormQueued/', queuedId),
    ...user,
    queuedId,
    formId: 'nps',
    at: AT,
    causeId,
    priority: 1,
    showFrom: AT,
    catalogRevision: 1,
    ...special,
  }
}

const cause = (id: string) => ({ type: 'EventTracked', ...user, id, received: AT }) as UserFact
const after = (fact: Queued, type: 'FormExpired' | 'FormCancelled'): FormFact => {
  const { organization, project, userId, queuedId, formId, at } = fact
  return { type, id: uuidV5(`${type}/`, queuedId), organization, project, userId, queuedId, formId, at }
}

async function* noRows() {}

/** What is found besides the rows, which are none. */
async function kindsOf(facts: readonly FormFact[], records: readonly UserFact[], times?: number) {
  const findings = createFindings()
  const repeat = times === undefined ? 'always' : { times }
  const catalog = createCatalog()
  const projects = [{ id: 'shop', forms: [{ id: 'nps', frequency: { repeat } }] }]
  catalog.observe(Buffer.from(JSON.stringify({ organization: 'acme', revision: 1, config: { projects } })))
  const model = createQueueModel(findings, catalog)
  for (const fact of facts) model.foldForm(fact, { isLater: false })
  for (const record of records) model.see(record)
  await model.compareUsers({ rows: noRows } as unknown as Snapshot, RANGE, findings)
  return findings
    .byKind()
    .map(({ kind }) => kind)
    .filter((kind) => kind !== 'forms.queue: missing')
}

describe('the evaluator’s decisions, counted again', () => {
  it('are well where each has its cause and its ids, however often the outbox repeats them', async () => {
    expect(await kindsOf([queued(CAUSE), queued(CAUSE)], [cause(CAUSE)])).toEqual([])
  })

  it('need a record that gives them their id', async () => {
    expect(await kindsOf([queued(CAUSE)], [])).toEqual(['form-events: cause'])
    expect(await kindsOf([queued(CAUSE, { queuedId: OTHER })], [cause(CAUSE)])).toEqual(['form-events: cause'])
    expect(await kindsOf([queued(CAUSE, { id: OTHER })], [cause(CAUSE)])).toEqual(['form-events: id'])
  })

  it('queue a form for a user no second time while it waits', async () => {
    const both = [queued(CAUSE), queued(OTHER)]
    expect(await kindsOf(both, [cause(CAUSE), cause(OTHER)])).toEqual(['form-events: two waiting'])
    const [first, second] = both as [Queued, Queued]
    const inTurn = [first, after(first, 'FormExpired'), second]
    expect(await kindsOf(inTurn, [cause(CAUSE), cause(OTHER)], 1)).toEqual([])
  })

  it('queue a form no further time than its frequency says', async () => {
    const first = queued(CAUSE)
    const shown: FormFact = {
      ...after(first, 'FormExpired'),
      type: 'FormDelivered',
      visitId: OTHER,
      id: uuidV5(`FormDelivered/${OTHER}`, first.queuedId),
    }
    const answered = { type: 'VisitAnswered', ...user, id: 'x', visitId: OTHER, queuedId: first.queuedId } as UserFact
    const records = [cause(CAUSE), cause(OTHER), answered]
    expect(await kindsOf([first, shown, queued(OTHER)], records)).toEqual([])
    expect(await kindsOf([first, shown, queued(OTHER)], records, 1)).toEqual(['form-events: too often'])
    expect(await kindsOf([first, shown], [cause(CAUSE)])).toEqual(['form-events: no visit'])
  })

  it('change only what was queued', async () => {
    expect(await kindsOf([after(queued(CAUSE), 'FormCancelled')], [])).toEqual(['form-events: never queued'])
  })
})
