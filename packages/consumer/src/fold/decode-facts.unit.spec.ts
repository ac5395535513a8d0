import { plainCodec, UserFact } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { factsAsRecords } from '@nextvisit/testing'
import { expect, it } from 'vitest'
import { createVisitsProjection } from '../../test/visits-projection.ts'
import { decodeFacts } from './decode-facts.ts'

it('decodes no record that an operator has set aside, since its decoding may be what throws', async () => {
  const records = factsAsRecords([eventTracked({ eventName: 'One' }), eventTracked({ eventName: 'Two' })])
  const [broken] = records
  const codec: typeof plainCodec = {
    ...plainCodec,
    decode: (schema, some) => {
      if (some.some(({ value }) => value === broken!.value)) throw new TypeError('a bug of the codec')
      return plainCodec.decode(schema, some)
    },
  }
  const core = { projection: createVisitsProjection(), codec }
  await expect(decodeFacts(core, [{ records }])).rejects.toThrow('a bug of the codec')
  const [decoded] = await decodeFacts(core, [
    { records, deadBecause: (record) => (record === broken ? 'set aside' : undefined) },
  ])
  expect(decoded!.deadLetters).toEqual([{ record: broken, reason: 'set aside' }])
  expect(decoded!.recorded.map(({ fact, offset }) => [UserFact.parse(fact).type, offset])).toEqual([
    ['EventTracked', 1n],
  ])
})
