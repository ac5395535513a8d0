import { describe, expect, it } from 'vitest'
import { TRAIT_OPERATOR_NAMES, TRAIT_OPERATORS } from '../traits/trait-operators.ts'
import { checkSettableTraits } from './check-settable-traits.ts'
import { parseIdentifyBody } from './identify-body.ts'
import type { JsonObject } from './json-object.ts'

/** Returns the message of the refusal of an identify by a page that may change only `settable`. */
function refusalOf(settable: readonly string[] | undefined, body: JsonObject): string | undefined {
  const parsed = parseIdentifyBody({ userName: 'ada', ...body })
  if (parsed.outcome === 'rejected') throw new Error(parsed.message)
  return checkSettableTraits({ settableTraits: settable && new Set(settable) }, parsed.value)?.message
}

/** Returns `userAttributes` that change a trait with an operator. */
function changing(operator: keyof typeof TRAIT_OPERATORS, slug: string): JsonObject {
  const isList = TRAIT_OPERATORS[operator].operand === 'none'
  return { userAttributes: { [`$${operator}`]: isList ? [slug] : Object.fromEntries([[slug, 1]]) } }
}

describe('the traits that a page may change', () => {
  it.each(TRAIT_OPERATOR_NAMES)('are those that the project lists, under $%s', (operator) => {
    expect(refusalOf(['theme'], changing(operator, 'theme'))).toBeUndefined()
    expect(refusalOf(['theme'], changing(operator, 'plan'))).toBe(
      `userAttributes.$${operator}.plan must not be changed with a publishable key: this project's sdk.settableTraits does not list it`,
    )
    expect(refusalOf([], changing(operator, 'theme'))).toContain(
      `userAttributes.$${operator}.theme must not be changed`,
    )
  })

  it.each([['Theme'], [' theme'], ['__proto__'], ['constructor'], ['email'], ['theme.dark']])(
    'are compared exactly: %j is not theme',
    (slug) => expect(refusalOf(['theme'], changing('set', slug))).toContain(`userAttributes.$set.${slug} must not`),
  )

  it('are all, if the project lists none', () => {
    for (const operator of TRAIT_OPERATOR_NAMES)
      expect(refusalOf(undefined, changing(operator, 'plan'))).toBeUndefined()
  })

  it('do not include device facts, which pages report', () => {
    expect(refusalOf([], { $deviceInfo: { $deviceType: 'web' } })).toBeUndefined()
    expect(refusalOf([], { userAttributes: { $set: { $deviceType: 'web' } } })).toBeUndefined()
  })
})
