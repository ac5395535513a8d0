import { expect, it } from 'vitest'
import { userOfRecord } from './user-of-record.ts'

const USER = 'bc6fb05d-2e6c-5857-90f9-921ef8a141c3'
const SHOP = { organization: 'acme', project: 'shop' }
const BLOG = { organization: 'acme', project: 'blog' }
const text = (form: 'json' | 'text', shown: string) => ({ form, text: shown, isCut: false })
const KEY = text('text', USER)

it.each([
  [
    'the project that the value names',
    KEY,
    text('json', JSON.stringify(SHOP)),
    [SHOP, BLOG],
    { ...SHOP, userId: USER },
  ],
  ['the only project', KEY, text('text', 'hello'), [SHOP], { ...SHOP, userId: USER }],
  ['the only project, of a record without a value', KEY, null, [SHOP], { ...SHOP, userId: USER }],
  ['no user if several projects are possible', KEY, text('text', 'hello'), [SHOP, BLOG], undefined],
  [
    'no user if the value names no project of the workspace',
    KEY,
    text('json', '{"project":"ada@x"}'),
    [SHOP],
    undefined,
  ],
  ['no user if the key is no userId', text('text', 'somebody'), text('json', JSON.stringify(SHOP)), [SHOP], undefined],
  ['no user without a key', null, text('json', 'null'), [SHOP], undefined],
] as const)('userOfRecord finds %s', (_, key, value, projects, user) => {
  expect(userOfRecord({ key, value }, [...projects])).toEqual(user)
})
