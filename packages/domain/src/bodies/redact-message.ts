import { DEVICE_FIELDS } from '@nextvisit/contracts'
import { TRAIT_OPERATOR_NAMES } from '../traits/trait-operators.ts'

const OWN_WORDS: ReadonlySet<string> = new Set([
  'The body',
  'userAttributes',
  'properties',
  'answers',
  '$deviceInfo',
  'type',
  'traits',
  'context',
  ...TRAIT_OPERATOR_NAMES.map((name) => `$${name}`),
  ...DEVICE_FIELDS,
])
const ITEM = /^(?:items|userNames)\[\d{1,3}\]$/

/** Removes the caller's own words from a message: `userAttributes.$increment.… must be a finite number`. */
export function redactMessage({ message, member }: { readonly message: string; readonly member?: string }): string {
  if (member === undefined) return message
  const parts = member.split('.')
  const chosenAt = parts.findIndex((part, index) => !OWN_WORDS.has(part) && !(index === 0 && ITEM.test(part)))
  if (chosenAt === -1) return message
  return [...parts.slice(0, chosenAt), '…'].join('.') + message.slice(member.length)
}
