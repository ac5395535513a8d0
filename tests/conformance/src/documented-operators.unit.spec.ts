import { readFileSync } from 'node:fs'
import path from 'node:path'
import { TraitLeaf, TraitOperations } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'

const read = (file: string) => readFileSync(path.resolve(import.meta.dirname, '../../..', file), 'utf8')

describe('the documented operators', () => {
  it.each(['docs/spec/decisions.md', 'services/gateway/src/openapi/operations.yaml'])(
    'on traits are in %s, in the order in which they apply',
    (file) => {
      const operators = Object.keys(TraitOperations.shape).map((operator) => `\`$${operator}\``)
      expect(read(file)).toContain(operators.join(', '))
    },
  )

  it('of conditions are in docs/spec/forms.md', () => {
    const row = read('docs/spec/forms.md')
      .match(/^\| `\{ trait: slug, … \}` \|.*$/m)?.[0]
      .match(/\w+/g)
    expect(row).toEqual(expect.arrayContaining(Object.keys(TraitLeaf.shape)))
  })
})
