import { randomUUID } from 'node:crypto'
import { type FormAnswer, FormContent } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { createCsvLines, NDJSON } from './answer-lines.ts'

const options = ['red', 'blue'].map((id) => ({ id, label: id }))
const OLD = FormContent.parse({
  elements: [
    { id: 'stars', type: 'rating' },
    { id: 'colour', type: 'choice', options },
  ],
})
const NEW = FormContent.parse({
  elements: [
    { id: 'colour', type: 'choice', options, other: true },
    { id: 'docs', type: 'link', label: 'Docs', url: 'https://example.com' },
    { id: 'colours', type: 'choices', options, other: true },
    { id: 'contact', type: 'consent', label: 'Call me' },
    { id: 'reason', type: 'text' },
  ],
})
const AT = '2026-11-02T10:00:00.000Z'
const answerWith = (answers: FormAnswer['answers']): FormAnswer => ({
  answerId: 'a',
  userId: 'u',
  userName: '=ada',
  offerId: 'o',
  revision: 2,
  language: null,
  environment: 'P',
  status: 'partial',
  answers,
  startedAt: AT,
  endedAt: null,
  causeId: 'c',
})

describe('the lines of exported answers', () => {
  const { head, lineOf } = createCsvLines([NEW, OLD])

  it('have a column for each element of every revision, the newest first, and for texts in place of an option', () => {
    expect(head).toBe(
      'answerId,userId,userName,offerId,revision,language,environment,status,startedAt,endedAt,causeId,' +
        'answers.colour,answers.colour.other,answers.colours,answers.colours.other,answers.contact,answers.reason,answers.stars\r\n',
    )
  })

  it.each<[FormAnswer['answers'], string]>([
    [{}, ',,,,,,'],
    [{ stars: 4, colour: 'red' }, 'red,,,,,,4'],
    [{ colour: { other: '=green' } }, `,'=green,,,,,`],
    [{ colours: ['red', { other: 'a;b' }, 'blue'], contact: false, reason: '-1' }, `,,"red;blue","a;b",false,'-1,`],
  ])('write %j as %s', (answers, cells) => {
    expect(lineOf(answerWith(answers))).toBe(`a,u,'=ada,o,2,,P,partial,${AT},,c,${cells}\r\n`)
  })

  it('are refused rather than to lose an element that no content has', () => {
    expect(() => lineOf(answerWith({ __proto: 1 }))).toThrow(/the element __proto.*--format ndjson/)
  })

  it('are the answer of the route as NDJSON', () => {
    const answer = answerWith({ reason: `\u2028=1+1\n${randomUUID()}` })
    const line = NDJSON.lineOf(answer)
    expect([NDJSON.head, line.split('\n').length, JSON.parse(line)]).toEqual(['', 2, answer])
  })
})
