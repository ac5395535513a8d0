import type { CatalogKey } from '@nextvisit/catalog'
import { createApiKey, hashApiKey } from '@nextvisit/domain'
import { expect, it } from 'vitest'
import { createFindKey } from './find-key.ts'

const KEY = createApiKey('admin', 'P', Buffer.alloc(32, 1))
const ENTRY = { project: {}, entry: { name: 'backend' } } as unknown as CatalogKey

function givenCatalog(...texts: readonly string[]) {
  const keys = new Map(texts.map((text) => [hashApiKey(text), ENTRY]))
  return { keys, findKey: createFindKey({ keyByHash: (hash) => keys.get(hash) }) }
}

it('a key is found each time, and a text that differs by a character is not', () => {
  const { findKey } = givenCatalog(KEY)
  for (const _time of [1, 2]) {
    expect(findKey(KEY)).toBe(ENTRY)
    for (const other of ['', KEY.slice(1), `${KEY}0`, ` ${KEY}`, KEY.replace('admin', 'sdk')])
      expect(findKey(other)).toBeUndefined()
  }
})

it('a key is found only while the catalog has it', () => {
  const { keys, findKey } = givenCatalog()
  expect(findKey(KEY)).toBeUndefined()
  keys.set(hashApiKey(KEY), ENTRY)
  expect(findKey(KEY)).toBe(ENTRY)
  keys.clear()
  expect(findKey(KEY)).toBeUndefined()
})

it('no text that is not a key finds one, in any catalog', () => {
  expect(givenCatalog('no key').findKey('no key')).toBeUndefined()
})
