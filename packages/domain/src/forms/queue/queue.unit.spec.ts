import { type AnsweredElements, QueueRow, type SealedFormFact } from '@nextvisit/contracts'
import { answerGiven } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR, iso, MINUTE, moment, NOW, SECOND } from '../../../test/form-fixtures.ts'
import { answerRow } from './answer-row.ts'
import { cancel, confirm, EMPTY_QUEUE, enqueue, applyFormFact, expireDue, offer, type Queue, queueOf } from './queue.ts'

const user = { organization: 'acme', project: 'shop', userId: '00000000-0000-5000-8000-000000000001' }

function uuid(n: number): string {
  return `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
}

function queued(queue: Queue, { formId = 'nps', at = NOW, lastsMs = HOUR, record = 1 } = {}) {
  const form = { formId, priority: 0, showFrom: at, expiresAt: at + lastsMs }
  return enqueue(queue, form, {
    user,
    recordId: uuid(record),
    environment: 'P',
    received: moment(at),
    catalogRevision: 1,
  })
}

const statesOf = ({ rows }: Queue) => [...rows.values()].map(({ state }) => state)
const onlyRow = ({ rows }: Queue) => [...rows.values()][0]!
const waiting = queued(EMPTY_QUEUE).queue
const offered = offer(waiting, waiting.open.get('nps')!, moment(NOW))
const answer = { queuedId: onlyRow(waiting).id, visitId: uuid(9), received: iso(NOW), environment: 'P' as const }

describe('a row of the queue (forms.md, The queue)', () => {
  it('waits when it is queued, in the one slot of its form', () => {
    const { queue, facts } = queued(EMPTY_QUEUE)
    expect(facts).toMatchObject([{ type: 'FormQueued', ...user, formId: 'nps', at: iso(NOW), causeId: uuid(1) }])
    expect(QueueRow.parse(onlyRow(queue))).toMatchObject({ state: 'waiting', queuedAt: iso(NOW), offeredAt: null })
    expect([...queue.open.keys()]).toEqual(['nps'])
  })

  it('is queued once by one record', () => {
    expect(queued(waiting).queue).toBe(waiting)
  })

  it('is offered without a fact, and waits again after 30 seconds', () => {
    expect(statesOf(offered)).toEqual(['offered'])
    expect(expireDue(offered, moment(NOW + 30 * SECOND - 1)).queue).toBe(offered)
    expect(expireDue(offered, moment(NOW + 30 * SECOND))).toEqual({ queue: waiting, facts: [] })
  })

  it('expires at its time, but not during an offer', () => {
    const due = queued(EMPTY_QUEUE, { lastsMs: SECOND }).queue
    const { queue, facts } = expireDue(due, moment(NOW + SECOND))
    expect(statesOf(queue)).toEqual(['expired'])
    expect([queue.open.size, queue.shown.size]).toEqual([0, 0])
    expect(facts).toMatchObject([{ type: 'FormExpired', at: iso(NOW + SECOND) }])
    const held = offer(due, due.open.get('nps')!, moment(NOW))
    expect(statesOf(expireDue(held, moment(NOW + SECOND)).queue)).toEqual(['offered'])
    expect(statesOf(expireDue(held, moment(NOW + MINUTE)).queue)).toEqual(['expired'])
  })

  it('was last shown at the latest visit, whichever answer is folded last', () => {
    const both = queued(offered, { at: NOW + 1, record: 2 }).queue
    const [first, second] = [...both.rows.keys()] as [string, string]
    const later = confirm(both, { ...answer, queuedId: second, visitId: uuid(8), received: iso(NOW + MINUTE) }).queue
    const shown = confirm(later, { ...answer, queuedId: first }).queue.shown.get('nps')
    expect(shown).toEqual({ times: 2, lastAt: iso(NOW + MINUTE) })
  })

  it('was shown at the latest of two visits that showed it, whichever answer is folded last', () => {
    const later = confirm(offered, { ...answer, visitId: uuid(8), received: iso(NOW + MINUTE) }).queue
    const { queue } = confirm(later, answer)
    expect(onlyRow(queue).shownAt).toBe(iso(NOW + MINUTE))
    expect(queue.shown.get('nps')).toEqual({ times: 1, lastAt: iso(NOW + MINUTE) })
  })

  it('is cancelled', () => {
    const { queue, facts } = cancel(waiting, waiting.open.get('nps')!, moment(NOW))
    expect([statesOf(queue), queue.open.size, facts.length]).toEqual([['cancelled'], 0, 1])
  })

  it.each([
    ['waits', waiting],
    ['is offered', offered],
    ['has expired', expireDue(waiting, moment(NOW + HOUR)).queue],
    ['was cancelled', cancel(waiting, waiting.open.get('nps')!, moment(NOW)).queue],
  ])('is delivered by an answer if it %s', (_what, before) => {
    const { queue, facts } = confirm(before, answer)
    expect(onlyRow(queue)).toMatchObject({ state: 'delivered', shownAt: iso(NOW), visitId: uuid(9), offeredAt: null })
    expect([...queue.shown]).toEqual([['nps', { times: 1, lastAt: iso(NOW) }]])
    expect([queue.open.size, facts.length]).toEqual([0, 1])
  })

  it('counts one delivery, at the latest of its visits, and ignores a repeated answer', () => {
    const { queue } = confirm(offered, answer)
    expect(confirm(queue, answer)).toEqual({ queue, facts: [] })
    const later = { ...answer, visitId: uuid(10), received: iso(NOW + MINUTE) }
    expect(confirm(queue, later).queue.shown.get('nps')).toEqual({ times: 1, lastAt: iso(NOW + MINUTE) })
    expect(confirm(EMPTY_QUEUE, answer)).toEqual({ queue: EMPTY_QUEUE, facts: [] })
  })

  it('names the record that has queued it in every fact', () => {
    const row = waiting.open.get('nps')!
    const ends = [confirm(waiting, answer), expireDue(waiting, moment(NOW + HOUR)), cancel(waiting, row, moment(NOW))]
    expect(ends.map(({ facts }) => facts)).toMatchObject([
      [{ type: 'FormDelivered', causeId: uuid(1) }],
      [{ type: 'FormExpired', causeId: uuid(1) }],
      [{ type: 'FormCancelled', causeId: uuid(1) }],
    ])
  })

  it('leaves the slot to its successor after a late delivery', () => {
    const expired = expireDue(waiting, moment(NOW + HOUR)).queue
    const next = queued(expired, { at: NOW + HOUR, record: 2 }).queue
    expect(confirm(next, answer).queue.open.get('nps')?.causeId).toBe(uuid(2))
  })
})

/** The next event of a queue, after a while. `nth` picks one of the rows that it can concern. */
const steps = fc.array(
  fc.record({
    what: fc.constantFrom('enqueue', 'enqueue', 'offer', 'confirm', 'answer', 'answer', 'tick', 'cancel'),
    formId: fc.constantFrom('nps', 'ces'),
    nth: fc.nat({ max: 9 }),
    status: fc.constantFrom('partial' as const, 'finished' as const, 'dismissed' as const),
    afterMs: fc.constantFrom(0, SECOND, 31 * SECOND, 10 * MINUTE),
  }),
  { minLength: 1, maxLength: 40 },
)
type Step = (typeof steps extends fc.Arbitrary<infer Steps> ? Steps : never)[number]

function take(queue: Queue, { what, formId, nth, status }: Step, at: number, record: number) {
  const open = queue.open.get(formId)
  const row = [...queue.rows.values()][nth % Math.max(1, queue.rows.size)]
  if (what === 'enqueue' && !open) return queued(queue, { formId, at, lastsMs: 5 * MINUTE, record })
  if (what === 'offer' && open) return { queue: offer(queue, open, moment(at)), facts: [] }
  if (what === 'confirm' && row) {
    return confirm(queue, { queuedId: row.id, visitId: uuid(record), received: iso(at), environment: 'P' })
  }
  if (what === 'answer' && row) {
    const elements: AnsweredElements = nth % 2 === 0 ? { score: 'nps' } : {}
    const given = answerGiven({
      ...user,
      id: uuid(record),
      offerId: row.id,
      formId,
      received: iso(at),
      status,
      elements,
    })
    const { queue: answered, fact } = answerRow(queue, given, { key: uuid(0), bytes: '' })
    return { queue: answered, facts: [fact] }
  }
  if (what === 'cancel' && open?.state === 'waiting') return cancel(queue, open, moment(at))
  return expireDue(queue, moment(at))
}

function live(story: readonly Step[]): { readonly queue: Queue; readonly facts: readonly SealedFormFact[] } {
  const facts: SealedFormFact[] = []
  let queue = EMPTY_QUEUE
  let at = NOW
  for (const [index, step] of story.entries()) {
    at += step.afterMs
    const change = take(queue, step, at, index + 1)
    queue = change.queue
    facts.push(...change.facts)
  }
  return { queue, facts }
}

/** An open offer is not a fact: according to the log its row waits. */
function asLogged({ rows, shown }: Queue): Queue {
  const logged = [...rows.values()].map((row) =>
    row.state === 'offered' ? { ...row, state: 'waiting' as const, offeredAt: null } : row,
  )
  return queueOf(logged, shown)
}

describe('the facts of a queue', () => {
  it('fold to the queue that recorded them', () => {
    fc.assert(
      fc.property(steps, (story) => {
        const { queue, facts } = live(story)
        expect(facts.reduce(applyFormFact, EMPTY_QUEUE)).toEqual(asLogged(queue))
      }),
    )
  })

  it('fold to the same queue if the log repeats some of them behind later ones', () => {
    const lost = fc.array(fc.record({ sent: fc.nat({ max: 20 }), again: fc.nat({ max: 20 }) }), { maxLength: 4 })
    fc.assert(
      fc.property(steps, lost, (story, sendings) => {
        const { queue, facts } = live(story)
        expect(resent(facts, sendings).reduce(applyFormFact, EMPTY_QUEUE)).toEqual(asLogged(queue))
      }),
    )
  })
})

/** A drain that did not hear that its records were published goes back and sends them, and what follows, again. */
function resent(
  facts: readonly SealedFormFact[],
  sendings: readonly { readonly sent: number; readonly again: number }[],
): readonly SealedFormFact[] {
  const log: SealedFormFact[] = []
  let next = 0
  for (const { sent, again } of sendings) {
    log.push(...facts.slice(next, next + sent))
    next = Math.max(0, Math.min(facts.length, next + sent) - again)
  }
  return [...log, ...facts.slice(next)]
}
