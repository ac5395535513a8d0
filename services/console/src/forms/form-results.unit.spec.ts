import { FormContent } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { shownElements } from './form-results.ts'

const content = FormContent.parse({
  languages: ['de', 'en'],
  elements: [
    { id: 'score', type: 'nps', label: { en: 'How likely?', de: 'Wie wahrscheinlich?' } },
    { id: 'stars', type: 'rating', scale: 3 },
    { id: 'docs', type: 'link', label: 'Read', url: 'https://example.com' },
    {
      id: 'plan',
      type: 'choice',
      options: [
        { id: 'monthly', label: { en: 'Monthly', de: 'Monatlich' } },
        { id: 'yearly', label: 'Yearly' },
      ],
      other: true,
    },
    { id: 'contact', type: 'consent', label: 'You may contact me' },
  ],
})

const shown = (...results: Parameters<typeof shownElements>[0]) =>
  shownElements(results, content).map(({ id, label, count, distribution }) => [
    id,
    label,
    count,
    distribution.map(({ label: words, count: times }) => `${words}: ${times}`).join(', '),
  ])

describe('results of elements', () => {
  it('are in the order of the form, with its words in the default language and every possible value', () => {
    expect(
      shown(
        {
          id: 'plan',
          type: 'choice',
          count: 3,
          distribution: [
            { value: 'monthly', count: 2 },
            { value: 'other', count: 1 },
          ],
        },
        { id: 'stars', type: 'rating', count: 1, average: 3, distribution: [{ value: 3, count: 1 }] },
        { id: 'contact', type: 'consent', count: 1, distribution: [{ value: false, count: 1 }] },
      ),
    ).toEqual([
      ['score', 'Wie wahrscheinlich?', 0, '0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0, 8: 0, 9: 0, 10: 0'],
      ['stars', null, 1, '1: 0, 2: 0, 3: 1'],
      ['plan', null, 3, 'Monatlich: 2, Yearly: 0, Other, in their own words: 1'],
      ['contact', 'You may contact me', 1, 'Yes: 0, No: 1'],
    ])
  })

  it('of removed elements, types and options follow by their ids', () => {
    const lines = shown(
      { id: 'plan', type: 'choice', count: 1, distribution: [{ value: 'weekly', count: 1 }] },
      { id: 'stars', type: 'text', count: 4, distribution: [] },
      { id: 'gone', type: 'choices', count: 1, distribution: [{ value: 'red', count: 1 }] },
    )
    expect(lines.slice(2)).toEqual([
      ['plan', null, 1, 'Monatlich: 0, Yearly: 0, Other, in their own words: 0, weekly: 1'],
      ['contact', 'You may contact me', 0, 'Yes: 0, No: 0'],
      ['stars', null, 4, ''],
      ['gone', null, 1, 'red: 1'],
    ])
  })

  it('of a form without content have no words', () => {
    const result = { id: 'score', type: 'nps' as const, count: 0, distribution: [] }
    expect(shownElements([result], undefined)).toMatchObject([{ id: 'score', label: null }])
  })
})
