import type { JsonObject } from '../src/bodies/json-object.ts'

/** A JSON Schema, as far as the schemas of bodies use it. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly items?: Schema
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly propertyNames?: Schema
  readonly additionalProperties?: Schema | false
}

interface ProbeOptions {
  /** Samples of strings by member, for rules that a schema cannot express. All other strings are left out there. */
  readonly samples?: Readonly<Record<string, readonly string[]>>
  /** Members without probes. */
  readonly without?: readonly string[]
}

/** Values of every JSON type, with the numbers that `JSON.parse` can return, and lengths that no bound names. */
const KINDS: readonly unknown[] = [
  [null, true, false, 0, -1, 0.5, 2 ** 53, 1e300, Infinity],
  ['', ' ', 'a', 'A', '1', '-', '\n', 'é', '😀', 'a'.repeat(5_000)],
  [[], [[]], [{}], [null], [true], [1], ['a'], ['a', 1, null], Array.from({ length: 150 }, () => 'a')],
  [{}, { a: null }, { a: 'a' }, { a: 1 }, { a: [] }, { a: {} }, { '': 'a' }, { a: 'a', b: 1 }],
].flat()

/** Levels below which a schema that refers to itself gets no more probes. Bodies stay within the limits on levels. */
const MAX_REFERENCES = 2

/**
 * Returns bodies that differ from a minimal valid one in one place each: every member, key and item of the schema with a
 * value of each JSON type, with both sides of each bound, and left out. They are always the same.
 */
export function bodiesAround(root: object, { samples = {}, without = [] }: ProbeOptions = {}): readonly JsonObject[] {
  const { $defs = {} } = root as Schema

  function resolve(schema: Schema): Schema {
    const name = schema.$ref?.slice('#/$defs/'.length)
    if (name === undefined) return schema
    const found = $defs[name]
    if (!found) throw new Error(`The schema has no definition ${name}`)
    return found
  }

  function sampleOf(schema: Schema, member = ''): unknown {
    const { anyOf, oneOf = anyOf, type, properties = {}, required = [], ...others } = resolve(schema)
    if (samples[member]) return samples[member][0]
    if (oneOf?.[0]) return sampleOf(oneOf[0])
    if ('const' in others) return others.const
    if (others.enum) return others.enum[0]
    const [first] = [type].flat()
    if (first === 'number' || first === 'integer') return 1
    if (first === 'array') return []
    if (first !== 'object') return first === 'string' ? 'a' : null
    return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {}, name)]))
  }

  function probesOf(schema: Schema, references: number): readonly unknown[] {
    if (schema.$ref !== undefined) {
      return references === MAX_REFERENCES ? KINDS : probesOf(resolve(schema), references + 1)
    }
    const { anyOf = [], oneOf = [], enum: values = [], items } = schema
    return [
      ...KINDS,
      ...[...anyOf, ...oneOf].flatMap((one) => probesOf(one, references)),
      ...values.flatMap((value) => [
        value,
        `${String(value)} `,
        String(value).toUpperCase(),
        String(value).toLowerCase(),
      ]),
      ...textsAround(schema),
      ...(items ? itemsAround(schema, items, references) : []),
      ...membersAround(schema, references),
    ]
  }

  function itemsAround({ maxItems = 0 }: Schema, items: Schema, references: number): readonly unknown[] {
    const sample = sampleOf(items)
    const many = maxItems === 0 ? [] : [maxItems, maxItems + 1].map((length) => Array.from({ length }, () => sample))
    return [...many, ...probesOf(items, references).flatMap((probe) => [[probe], [sample, probe]])]
  }

  function membersAround(schema: Schema, references: number): readonly unknown[] {
    const { properties, propertyNames = {}, additionalProperties, required = [] } = schema
    if (!properties && !additionalProperties) return []
    const whole = sampleOf(schema) as JsonObject
    const own = Object.entries(properties ?? {}).filter(([name]) => !without.includes(name))
    const others = additionalProperties || {}
    return [
      { ...whole, unlisted: 'a' },
      ...required.map((left) => Object.fromEntries(Object.entries(whole).filter(([name]) => name !== left))),
      ...own.flatMap(([name, member]) =>
        memberProbes(name, member, references).map((probe) => ({ ...whole, [name]: probe })),
      ),
      ...(additionalProperties ? probesOf(others, references).map((probe) => ({ ...whole, key: probe })) : []),
      ...textsAround(propertyNames).map((key) => ({ ...whole, [key]: sampleOf(others) })),
    ]
  }

  function memberProbes(name: string, schema: Schema, references: number): readonly unknown[] {
    const probes = probesOf(schema, references)
    const own = samples[name]
    return own ? [...probes.filter((probe) => typeof probe !== 'string'), ...own] : probes
  }

  const bodies = membersAround(root as Schema, 0) as readonly JsonObject[]
  return [...new Map(bodies.map((body) => [keyOf(body), body])).values()]
}

/** Returns strings at both sides of the schema's bounds. A character beyond the BMP counts once. */
function textsAround({ minLength, maxLength }: Schema): readonly string[] {
  const lengths = [minLength, maxLength].flatMap((bound) => (bound === undefined ? [] : [bound - 1, bound, bound + 1]))
  return lengths.filter((length) => length >= 0).flatMap((length) => ['a'.repeat(length), '😀'.repeat(length)])
}

/** Returns a text by which two bodies are equal. JSON has no infinite numbers. */
function keyOf(body: JsonObject): string {
  return JSON.stringify(body, (_name, value: unknown) => (value === Infinity ? 'Infinity, the number' : value))
}
