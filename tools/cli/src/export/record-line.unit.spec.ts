import type { FetchedRecord } from '@nextvisit/log'
import { expect, it } from 'vitest'
import { exportedRecord } from './record-line.ts'

const lineOf = (record: FetchedRecord) => exportedRecord(record, () => 'published')

function recordOf(value: string | Buffer | null): FetchedRecord {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  const key = Buffer.from('user "7"')
  return {
    topic: 'user-events',
    partition: 3,
    offset: 42n,
    timestampMs: 0,
    key,
    headers: { ce_id: 'é"' },
    value: bytes,
  }
}

const BEGINNING =
  '{"topic":"user-events","partition":3,"offset":42,"timestamp":"1970-01-01T00:00:00.000Z","key":"user \\"7\\"","headers":{"ce_id":"é\\""}'

it('an exported line is the record with its JSON as it was published', () => {
  const value = '{"organization":"acme","project":"shop","__proto__":{"a":1.0},"text":"\\n\\u00e9"}'
  expect(lineOf(recordOf(value))).toEqual({
    line: `${BEGINNING},"value":${value}}\n`,
    organization: 'acme',
    project: 'shop',
  })
})

it('an exported line is one line although its JSON has several', () => {
  expect(lineOf(recordOf('{\r\n  "a": [1,\n 2]\n}'))?.line).toBe(`${BEGINNING},"value":{"a":[1,2]}}\n`)
})

it('an exported line is one line although its JSON is nested too deep to be written again', () => {
  const [begin, end] = ['['.repeat(100_000), ']'.repeat(100_000)]
  expect(lineOf(recordOf(`${begin}\r\n${end}`))?.line).toBe(`${BEGINNING},"value":${begin}  ${end}}\n`)
})

it.each([
  ['a tombstone', null, '"value":null'],
  ['JSON null', 'null', '"value":null'],
  ['text', 'not JSON', '"value":null,"valueBase64":"bm90IEpTT04="'],
  ['nothing', '', '"value":null,"valueBase64":""'],
])('an exported line shows %s', (_what, value, shown) => {
  expect(lineOf(recordOf(value))?.line).toBe(`${BEGINNING},${shown}}\n`)
})

it('an exported line has opened members, and an erased record has none', () => {
  const sealed = recordOf('{"organization":"acme","project":"shop","sealed":{}}')
  const opened = exportedRecord(sealed, () => ({ organization: 'acme', project: 'shop', userName: 'ada' }))
  expect(opened?.line).toBe(`${BEGINNING},"value":{"organization":"acme","project":"shop","userName":"ada"}}\n`)
  expect(exportedRecord(sealed, () => 'erased')).toBeUndefined()
})
