import { describe, expect, it } from 'vitest'
import { registryApi } from './api.ts'

const query = { organization: 'demo', project: 'shop', kind: 'traits' }

describe('a query for names', () => {
  it.each(['prefix', 'after'])('is refused if Postgres could not store its %s', (member) => {
    const messages = (text: string) =>
      registryApi.listNames.input
        .safeParse({ ...query, [member]: text })
        .error?.issues.map(({ path, message }) => [path, message])
    expect(messages('pl\u0000an')).toEqual([[[member], 'must not contain U+0000 or lone surrogates']])
    expect(messages('plan')).toBeUndefined()
  })
})
