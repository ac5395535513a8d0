import { randomUUID } from 'node:crypto'
import { type FormAnswer, FormContent } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { HIDE_PERSONAL, SHOW_ALL } from '../http/mask.ts'
import { answeredOffer } from './answered-offer.ts'

const content = FormContent.parse({
  languages: ['en', 'de'],
  elements: [
    { id: 'score', type: 'nps', label: { en: 'How likely?', de: 'Wie wahrscheinlich?' } },
    { id: 'reason', type: 'text', maxLength: 10_000 },
    { id: 'uses', type: 'choices', options: [{ id: 'work', label: { en: 'Work', de: 'Arbeit' } }], other: true },
    { id: 'contact', type: 'consent', label: 'Contact me' },
  ],
})

const offer = (answers: FormAnswer['answers'], userName: string | null = 'ada@example.com'): FormAnswer => ({
  answerId: randomUUID(),
  userId: randomUUID(),
  userName,
  offerId: randomUUID(),
  revision: 7,
  language: 'de',
  environment: 'P',
  status: 'finished',
  answers,
  startedAt: '2026-11-27T10:00:00.000Z',
  endedAt: '2026-11-27T10:01:00.000Z',
  causeId: randomUUID(),
})

const answers = {
  score: 9,
  reason: '<b>Slow</b>',
  uses: ['work', { other: 'School' }, 'gone'],
  contact: false,
  old: 'yes',
}

it('answers are shown in the words of the form, whatever the language of the user', () => {
  expect(answeredOffer(offer(answers), content, SHOW_ALL)).toMatchObject({
    userName: 'ada@example.com',
    answers: [
      { id: 'score', label: 'How likely?', words: '9' },
      { id: 'reason', label: null, words: '<b>Slow</b>' },
      { id: 'uses', label: null, words: 'Work, “School”, gone' },
      { id: 'contact', label: 'Contact me', words: 'No' },
      { id: 'old', label: null, words: 'yes' },
    ],
  })
})

it('viewers see which elements were answered, but neither answers nor names', () => {
  const shown = answeredOffer(offer(answers), content, HIDE_PERSONAL)
  expect(shown.userName).toBe('a•••')
  expect(new Set(shown.answers.map(({ words }) => words))).toEqual(new Set(['•••']))
  expect(JSON.stringify(shown)).not.toMatch(/Slow|School|ada@/)
})

it('a long text is cut, and an unknown name stays unknown', () => {
  const shown = answeredOffer(offer({ reason: '😀'.repeat(501) }, null), undefined, SHOW_ALL)
  expect(shown.userName).toBeNull()
  expect(shown.answers).toEqual([{ id: 'reason', label: null, words: '😀'.repeat(500), isCut: true }])
})
