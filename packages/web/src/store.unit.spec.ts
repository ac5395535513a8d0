import { afterEach, describe, expect, it, vi } from 'vitest'
import { createStore } from './store.ts'

afterEach(() => vi.unstubAllGlobals())

/** Simulates the part of `localStorage` that the store uses. Its values are its own enumerable members. */
function storageOf(values: Record<string, string>, setItem?: () => void): object {
  return Object.create(
    {
      getItem: (name: string) => values[name] ?? null,
      setItem: setItem ?? ((name: string, value: string) => void (values[name] = value)),
      removeItem: (name: string) => delete values[name],
    },
    Object.getOwnPropertyDescriptors(values),
  ) as object
}

describe('a store', () => {
  it.each([
    ['is absent', undefined],
    [
      'is full',
      storageOf({}, () => {
        throw new DOMException('Full', 'QuotaExceededError')
      }),
    ],
  ])('keeps values for the page if localStorage %s', (_how, storage) => {
    vi.stubGlobal('localStorage', storage)
    const store = createStore('one:')
    expect(store.set('form:b', '1')).toBe(false)
    store.set('form:a', '2')
    store.set('visit', '3')
    expect(store.names('form:')).toEqual(['form:a', 'form:b'])
    expect([store.take('form:a'), store.take('form:a'), store.get('form:b')]).toEqual(['2', undefined, '1'])
  })

  it('sees only its own values', () => {
    const values = { 'one:form:a': '1', 'other:form:b': '2', theirs: '3' }
    vi.stubGlobal('localStorage', storageOf(values))
    const store = createStore('one:')
    expect(store.names('')).toEqual(['form:a'])
    expect([store.get('form:a'), store.get('form:b'), store.take('theirs')]).toEqual(['1', undefined, undefined])
    expect(store.set('form:c', '4')).toBe(true)
    expect(values).toHaveProperty('one:form:c', '4')
  })
})
