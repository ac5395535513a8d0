import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { NOT_COVERED } from './not-covered.ts'

const PAGE = path.resolve(import.meta.dirname, '../../../../docs/reference/privacy.md')

/** Returns the items of the list below a heading, without line breaks and marks of code. */
function itemsBelow(heading: string): readonly string[] {
  const [, text = ''] = readFileSync(PAGE, 'utf8').split(`\n### ${heading}\n`)
  const [section = ''] = text.split('\n#')
  const items = section.matchAll(/^- (.*(?:\n {2}.*)*)/gm)
  return Array.from(items, ([, item = '']) => item.replaceAll(/\n */g, ' ').replaceAll('`', ''))
}

it('a receipt and the data map name the same things that an erasure cannot reach', () => {
  expect(itemsBelow('An erasure cannot reach')).toEqual(NOT_COVERED)
})
