import { UserFact } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import type { FetchedRecord } from '@nextvisit/log'
import { factsAsRecords } from '@nextvisit/testing'
import { expect, it } from 'vitest'
import { decodeFacts } from './decode-facts.ts'

it('decodes no record that an operator has set aside, because decoding may throw for it', () => {
  const records = factsAsRecords([eventTracked({ eventName: 'One' }), eventTracked({ eventName: 'Two' })])
  const [broken] = records
  const schema = UserFact.transform((fact) => {
    if ('eventName' in fact && fact.eventName === 'One') throw new TypeError('a bug of the schema')
    return fact
  })
  expect(() => decodeFacts(schema, { records })).toThrow('a bug of the schema')
  const deadBecause = (record: FetchedRecord) => (record === broken ? 'set aside' : undefined)
  const decoded = decodeFacts(schema, { records, deadBecause })
  expect(decoded.deadLetters).toEqual([{ record: broken, reason: 'set aside' }])
  expect(decoded.recorded.map(({ fact, offset }) => [fact.type, offset])).toEqual([['EventTracked', 1n]])
})
