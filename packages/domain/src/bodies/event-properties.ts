import { BODY_LIMITS, isLongerThan } from '@nextvisit/contracts'
import { BODY_RULES } from './body-rules.ts'
import { emptyAsObject, isJsonObject, type JsonObject } from './json-object.ts'
import { type BodyRule, reject, type Rejection, truncate } from './rejection.ts'

type ParsedProperties = { readonly outcome: 'ok'; readonly properties: JsonObject | undefined } | Rejection

/** Checks `properties` of a body, undefined for none, and returns them as given (decisions.md, Track event). */
export function parseEventProperties(given: unknown): ParsedProperties {
  const properties = emptyAsObject(given)
  if (properties === undefined) return { outcome: 'ok', properties }
  if (!isJsonObject(properties)) return reject(BODY_RULES.properties)
  const broken = findBroken(properties, 1)
  if (broken) return reject(broken.rule(`properties${broken.path}`))
  const bytes = Buffer.byteLength(JSON.stringify(properties))
  return bytes > BODY_LIMITS.propertiesBytes ? reject(BODY_RULES.propertiesBytes) : { outcome: 'ok', properties }
}

/** A rule, and the path of the value that breaks it: `.items[3].name`. */
interface Broken {
  readonly rule: (member: string) => BodyRule
  readonly path: string
}

/** Finds the first value that breaks a rule, down to the allowed depth. A path is built only for a broken rule. */
function findBroken(value: unknown, level: number): Broken | undefined {
  if (typeof value === 'string') return brokenBy(isLongString(value) && BODY_RULES.propertyString)
  if (typeof value === 'number') return brokenBy(!Number.isFinite(value) && BODY_RULES.inexactNumber)
  if (typeof value !== 'object' || value === null) return undefined
  if (level > BODY_LIMITS.propertiesDepth) return brokenBy(BODY_RULES.propertyDepth)
  return Array.isArray(value) ? findBrokenItem(value, level) : findBrokenMember(value as JsonObject, level)
}

function findBrokenItem(items: readonly unknown[], level: number): Broken | undefined {
  for (const [index, item] of items.entries()) {
    const broken = findBroken(item, level + 1)
    if (broken) return { ...broken, path: `[${index}]${broken.path}` }
  }
  return undefined
}

function findBrokenMember(members: JsonObject, level: number): Broken | undefined {
  for (const [key, member] of Object.entries(members)) {
    const isLongKey = isLongerThan(key, BODY_LIMITS.propertyKeyLength)
    const broken = isLongKey ? brokenBy(BODY_RULES.propertyKey) : findBroken(member, level + 1)
    if (broken) return { ...broken, path: `.${truncate(key)}${broken.path}` }
  }
  return undefined
}

function isLongString(text: string): boolean {
  return isLongerThan(text, BODY_LIMITS.propertyStringLength)
}

function brokenBy(rule: Broken['rule'] | false): Broken | undefined {
  return rule ? { rule, path: '' } : undefined
}
