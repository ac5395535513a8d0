import { describe, expect, it } from 'vitest'
import { directionOf, wordsIn } from './words.ts'

describe('the fixed words', () => {
  it.each(['en', 'de', 'fr', 'es', 'ar'])('are complete in %s', (language) => {
    const words = wordsIn(language)
    expect(Object.keys(words).toSorted()).toEqual(Object.keys(wordsIn('en')).toSorted())
    expect(new Set(Object.values(words)).size).toBe(Object.keys(words).length)
    for (const name of ['atLeast', 'atMost', 'between', 'exactly', 'tooLong'] as const) {
      expect(words[name]).toContain('{n}')
    }
    expect(words.between).toContain('{m}')
  })

  it('of a longer tag are those of its language', () => {
    expect(wordsIn('DE-ch').send).toBe('Senden')
  })

  it('of an unknown language are English', () => {
    for (const language of ['pl', '', '__proto__', 'constructor']) expect(wordsIn(language).send).toBe('Send')
  })

  it('can be replaced one by one', () => {
    expect(wordsIn('de', { send: 'Abschicken' })).toEqual({ ...wordsIn('de'), send: 'Abschicken' })
  })
})

describe('the direction', () => {
  it.each(['ar', 'AR-eg', 'he', 'fa-IR', 'ur', 'ckb', 'az-Arab', 'uz-arab-AF', 'ks'])(
    'of %s is right to left',
    (tag) => {
      expect(directionOf(tag)).toBe('rtl')
    },
  )

  it.each(['en', 'de', 'arn', 'fas-Latn', 'ar-Latn', 'ks-Deva', 'sd-deva-IN', 'zh-Hant-TW', ''])(
    'of %s is left to right',
    (tag) => {
      expect(directionOf(tag)).toBe('ltr')
    },
  )
})
