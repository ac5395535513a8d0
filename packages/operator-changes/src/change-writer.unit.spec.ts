import { decodeRecord, MAX_CHANGE_LINES, OperatorChangeFact } from '@nextvisit/contracts'
import type { PublishOutcome, RecordToPublish } from '@nextvisit/log'
import { describe, expect, it } from 'vitest'
import { type ChangeEnd, type ChangeWriterParts, createChangeWriter } from './change-writer.ts'
import type { WantedChange } from './wanted-change.ts'

const ACTOR = { kind: 'command', name: 'ada', isVerified: false, via: 'ada@host' } as const
const MADE: ChangeEnd = { outcome: 'made' }

/** A writer whose log answers with these outcomes, then with success. */
function givenWriter(
  outcomes: readonly PublishOutcome['outcome'][] = [],
  options: Pick<ChangeWriterParts, 'isEndAwaited'> = {},
) {
  const written: RecordToPublish[] = []
  const deadlines: (number | undefined)[] = []
  const missingEnds: string[] = []
  const { record } = createChangeWriter({
    ...options,
    source: 'cli',
    onEndMissing: (outcome) => void missingEnds.push(outcome),
    publish: async (one, latestAt) => {
      deadlines.push(latestAt)
      const outcome = outcomes[written.length] ?? 'published'
      written.push(one)
      if (outcome === 'published') return { outcome, offset: BigInt(written.length - 1) }
      return outcome === 'unknown' ? { outcome, cause: new Error('no answer') } : { outcome, reason: 'deadline' }
    },
  })
  const facts = () =>
    written.map(({ value, headers }) => {
      const decoded = decodeRecord(OperatorChangeFact, Buffer.from(value ?? ''), headers)
      return decoded.outcome === 'ok' ? decoded.fact : decoded.reason
    })
  return { record, facts, deadlines, missingEnds }
}

const change = (special: Partial<WantedChange> = {}): WantedChange => ({
  kind: 'webhook.enable',
  organization: 'acme',
  project: 'shop',
  target: 'crm',
  ...special,
})

describe('a change', () => {
  it('is in the log before it is made, and its end after it', async () => {
    const { record, facts } = givenWriter()
    const recorded = await record(
      { actor: ACTOR },
      [change()],
      async () => facts().length,
      () => MADE,
    )
    expect(recorded).toEqual({ outcome: 'recorded', result: 1 })
    expect(facts()).toMatchObject([
      { type: 'ChangeRequested', kind: 'webhook.enable', actor: ACTOR, target: 'crm' },
      { type: 'ChangeEnded', outcome: 'made', requestOffset: '0', organization: 'acme', project: 'shop' },
    ])
  })

  it.each(['not-published', 'unknown'] as const)('is not made if the outcome of its record is %s', async (outcome) => {
    const { record } = givenWriter([outcome])
    let isMade = false
    const make = async () => void (isMade = true)
    expect(await record({ actor: ACTOR }, [change()], make, () => MADE)).toEqual({ outcome: 'not-recorded' })
    expect(isMade).toBe(false)
  })

  it('is not made if another one that belongs to it cannot be written, and says so', async () => {
    const { record, facts } = givenWriter(['published', 'not-published'])
    const recorded = await record(
      { actor: ACTOR },
      [change(), change()],
      async () => {},
      () => MADE,
    )
    expect(recorded).toEqual({ outcome: 'not-recorded' })
    expect(facts().at(-1)).toMatchObject({ outcome: 'refused', reason: 'NOT_RECORDED', requestOffset: '0' })
  })

  it('ends as failed with the code of an error, and without its message, which may name a person', async () => {
    const { record, facts } = givenWriter()
    const failure = Object.assign(new Error('ada@example.com is unknown'), { code: 'COMMAND_FAILED' })
    const failed = record(
      { actor: ACTOR },
      [change()],
      () => Promise.reject(failure),
      () => MADE,
    )
    await expect(failed).rejects.toBe(failure)
    expect(facts().at(-1)).toMatchObject({ type: 'ChangeEnded', outcome: 'failed', reason: 'COMMAND_FAILED' })
    expect(JSON.stringify(facts())).not.toContain('ada@example.com')
  })

  it('waits for its record until the deadline of its request, and for its end on its own', async () => {
    const { record, deadlines } = givenWriter()
    await record(
      { actor: ACTOR, deadlineAt: 7 },
      [change()],
      async () => {},
      () => MADE,
    )
    expect(deadlines).toEqual([7, undefined])
  })

  it.each([true, false])('is reported if its end cannot be written (isEndAwaited: %s)', async (isEndAwaited) => {
    const { record, missingEnds } = givenWriter(['published', 'not-published'], { isEndAwaited })
    const recorded = await record(
      { actor: ACTOR },
      [change()],
      async () => {},
      () => MADE,
    )
    expect(recorded.outcome).toBe('recorded')
    await expect.poll(() => missingEnds).toEqual(['not-published'])
  })

  it('has the same ids when it goes on after an interruption', async () => {
    const { record, facts } = givenWriter()
    const author = { actor: ACTOR, changeId: '01a2066e-3ec0-780c-9db5-05517574891e' }
    for (const _ of [1, 2])
      await record(
        author,
        [change()],
        async () => {},
        () => MADE,
      )
    const ids = facts().map((fact) => (typeof fact === 'string' ? fact : fact.id))
    expect(new Set(ids).size).toBe(2)
    expect(ids[0]).toBe(author.changeId)
  })

  it('can be read with texts of any length and content', async () => {
    const { record, facts } = givenWriter()
    const long = `${'x'.repeat(297)}😀\0\uD800`.repeat(3)
    const lines = Array.from({ length: MAX_CHANGE_LINES + 5 }, () => long)
    const wanted = change({ target: long, details: { file: long }, lines })
    await record(
      { actor: { ...ACTOR, name: long, via: long } },
      [wanted],
      async () => {},
      () => ({
        outcome: 'refused',
        reason: long,
      }),
    )
    expect(facts()).toMatchObject([
      { type: 'ChangeRequested', moreLines: 5 },
      { type: 'ChangeEnded', outcome: 'refused' },
    ])
  })
})
