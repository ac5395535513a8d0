import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { indentJson } from './indent-json.ts'

it('indentJson indents JSON', () => {
  expect(indentJson('{"a":[1,{}],"b":{"c":"x, {y}"},"d":[]}')).toBe(
    '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": {\n    "c": "x, {y}"\n  },\n  "d": []\n}',
  )
})

it('indentJson keeps the spelling of numbers and duplicate members', () => {
  expect(indentJson('{"n":12345678901234567890,"n":1e400}')).toBe('{\n  "n": 12345678901234567890,\n  "n": 1e400\n}')
})

it('indentJson changes no value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = JSON.stringify(value)
      expect(JSON.stringify(JSON.parse(indentJson(json)))).toBe(json)
    }),
  )
})
