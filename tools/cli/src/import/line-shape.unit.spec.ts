import { describe, expect, it } from 'vitest'
import { lineShape } from './line-shape.ts'

const of = (line: string) => lineShape(Buffer.from(line))

describe('a hint about a line', () => {
  it.each([
    ['the first line of an object over several lines', '{', 'jq -c'],
    ['the first line of an array over several lines', ' [ ', 'jq -c'],
    ['two objects of joined files', '{"a":1}{"b":2}', 'several objects'],
    ['a number of Python', '{"userName":"ada","userAttributes":{"$set":{"score": NaN}}}', 'omit the member'],
    ['a number of Python in a list', '{"properties":{"a":[1,-Infinity]}}', 'omit the member'],
    ['an array', '[{"a":1}]', "jq -c '.[]'"],
    ['a page of an API', '{"next":null,"results":[{"event":"x"}]}', "jq -c '.results[]'"],
  ])('names the remedy for %s', (_, line, remedy) => {
    expect(of(line)).toEqual([expect.stringContaining(remedy)])
  })

  it.each(['{"a":"}{"}', '{"a":{"b":1},"results":5}', '{"a":[{},{}]', 'text', '"[", ""', '5', '{"a":"x:NaN","b"'])(
    'is not given for %s',
    (line) => {
      expect(of(line)).toEqual([])
    },
  )
})
