import { readFileSync } from 'node:fs'
import path from 'node:path'
import { BODY_LIMITS, withSeparators } from '@nextvisit/contracts'
import { expect, it } from 'vitest'

const text = readFileSync(path.join(import.meta.dirname, 'operations.yaml'), 'utf8').replaceAll(/\s+/g, ' ')

it('operations.yaml names the limits of bodies that the rules check', () => {
  const limits = BODY_LIMITS
  const sentences = [
    `nested at most ${limits.depth} levels deep`,
    `A request has at most ${limits.traitOperations} operations`,
    `A trait key has 1 to ${limits.traitKeyLength} characters; a value is a string of at most ${limits.traitStringLength},`,
    `an array of at most ${limits.traitItems} of those`,
    `of at most ${withSeparators(limits.propertiesBytes)} bytes: at most ${limits.propertiesDepth} levels`,
    `names of at most ${limits.propertyKeyLength} characters; strings of at most ${withSeparators(limits.propertyStringLength)}.`,
    `Takes at most ${withSeparators(limits.batchItems)} items`,
    `a string of 1 to ${limits.eventNameLength} characters`,
  ]
  expect(sentences.filter((sentence) => !text.includes(sentence))).toEqual([])
})
