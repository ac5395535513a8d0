import { expect, it } from 'vitest'
import { nameOfLanguage } from './name-of-language.ts'

it('a language is named in English, and an unknown one by its tag', () => {
  const tags = ['de', 'pt-BR', 'zz', 'en-1', 'DE']
  expect(tags.map(nameOfLanguage)).toEqual(['German (de)', 'Brazilian Portuguese (pt-BR)', 'zz', 'en-1', 'German (DE)'])
})
