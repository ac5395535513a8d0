import { FormContent, LocalizedContent } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formContents } from '../../../test/form-contents.ts'
import { contentHashOf } from './content-hash.ts'
import { languageFor } from './language-for.ts'
import { localizedContent } from './localized-content.ts'

const content = FormContent.parse({
  languages: ['en', 'de', 'pt-BR'],
  title: 'Feedback',
  elements: [
    {
      id: 'plan',
      type: 'choice',
      label: { en: 'Plan', de: 'Tarif', 'pt-BR': 'Plano' },
      options: [{ id: 'monthly', label: { en: 'Monthly', de: 'Monatlich', 'pt-BR': 'Mensal' } }],
    },
    { id: 'score', type: 'nps', showIf: { answer: 'plan', is: 'monthly' } },
  ],
  thanks: { en: 'Thanks', de: 'Danke', 'pt-BR': 'Obrigado' },
})

/** Returns the same JSON with the members of each object in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, shuffled(member)]),
  )
}

describe('a content in one language', () => {
  it('has plain texts, and no languages', () => {
    expect(localizedContent(content, 'de')).toEqual({
      title: 'Feedback',
      elements: [
        {
          id: 'plan',
          type: 'choice',
          label: 'Tarif',
          required: false,
          options: [{ id: 'monthly', label: 'Monatlich' }],
          other: false,
        },
        { id: 'score', type: 'nps', required: false, showIf: { answer: 'plan', is: 'monthly' } },
      ],
      thanks: 'Danke',
    })
  })

  it('exists in each of its languages for every content that the schema accepts', () => {
    fc.assert(
      fc.property(formContents, (input) => {
        const parsed = FormContent.parse(input)
        for (const language of parsed.languages) {
          const localized = localizedContent(parsed, language)
          expect(LocalizedContent.parse(localized)).toEqual(localized)
          expect(localized.elements.map(({ id, type }) => [id, type])).toEqual(
            parsed.elements.map(({ id, type }) => [id, type]),
          )
        }
      }),
    )
  })
})

describe('the language of a content for a user', () => {
  it.each<[string, (string | undefined)[], string]>([
    ['the first preference that matches', ['fr', 'de', 'en'], 'de'],
    ['a preference in another case', ['DE'], 'de'],
    ['the tag as the form writes it', ['PT-br'], 'pt-BR'],
    ['a shorter tag', ['de-CH-1996'], 'de'],
    ['a tag with underscores', ['de_AT'], 'de'],
    ['the first preference, shortened, before the second', ['de-CH', 'en'], 'de'],
    ['the default for a longer tag of the form', ['pt'], 'en'],
    ['the default for unknown languages', ['fr', 'xx-YY', ''], 'en'],
    ['the default without preferences', [undefined, undefined], 'en'],
    ['the default for a preference that is no language', ['-'.repeat(100_000), '__proto__'], 'en'],
  ])('is %s', (_what, preferred, language) => {
    expect(languageFor(content, preferred)).toBe(language)
  })

  it('is always one of its languages', () => {
    fc.assert(
      fc.property(formContents, fc.array(fc.option(fc.string(), { nil: undefined })), (input, preferred) => {
        const parsed = FormContent.parse(input)
        expect(parsed.languages).toContain(languageFor(parsed, preferred))
        for (const language of parsed.languages) expect(languageFor(parsed, [language])).toBe(language)
      }),
    )
  })
})

describe('the hash of a content', () => {
  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(formContents, (input) => {
        const hash = contentHashOf(FormContent.parse(input))
        expect(hash).toMatch(/^[0-9a-f]{16}$/)
        expect(contentHashOf(FormContent.parse(shuffled(input)))).toBe(hash)
      }),
    )
  })

  it('is the same with and without defaults, and differs for another text or order of elements', () => {
    const { elements, ...rest } = content
    expect(contentHashOf(FormContent.parse(content))).toBe(contentHashOf(content))
    expect(contentHashOf({ ...content, title: 'Other' })).not.toBe(contentHashOf(content))
    expect(contentHashOf({ ...rest, elements: elements.toReversed() })).not.toBe(contentHashOf(content))
  })
})
