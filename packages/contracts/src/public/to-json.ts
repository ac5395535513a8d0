/** Maximum number of levels of a call. The gateway accepts fewer. */
const MAX_LEVELS = 20
const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * Serializes a value as JSON. Throws an error that names the first member that JSON cannot express, or would drop or change
 * silently: it writes NaN as null and a Map as {}, and omits functions. Undefined members are omitted. Objects with
 * `toJSON`, such as dates, are replaced by its result.
 */
export function toJson(value: object): string {
  const problem = problemIn(value, '', [])
  if (problem !== undefined) throw new TypeError(problem)
  return JSON.stringify(value)
}

/** Returns the path of the first such member and what it must be. `parents`: the objects around the value. */
function problemIn(value: object, path: string, parents: readonly object[]): string | undefined {
  if (parents.includes(value)) return `${path} must not contain itself`
  if (parents.length === MAX_LEVELS) return `${path} must have at most ${MAX_LEVELS} levels`
  const around = [...parents, value]
  const isArray = Array.isArray(value)
  // The copy of a list has no holes.
  for (const name of Object.keys(isArray ? [...value] : value)) {
    const memberPath = isArray ? `${path}[${name}]` : path ? `${path}.${name}` : name
    const problem = problemOf(value, name, memberPath, around)
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemOf(holder: object, name: string, path: string, around: readonly object[]): string | undefined {
  const given = (holder as Readonly<Record<string, unknown>>)[name]
  const value = hasToJson(given) ? given.toJSON(name) : given
  const must = (what: string) => `${path} must be ${what}`
  if (LONE_SURROGATE.test(name)) return must('named in well-formed Unicode')
  if (value === undefined && !Array.isArray(holder)) return undefined
  switch (typeof value) {
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : must(`a finite number, not ${value}`)
    case 'string':
      return LONE_SURROGATE.test(value) ? must('well-formed Unicode') : undefined
    case 'object': {
      if (value === null) return kindOf(given) === 'Date' ? must('a valid date') : undefined
      const kind = kindOf(value)
      return kind === 'Object' || kind === 'Array' ? problemIn(value, path, around) : must(`JSON, not ${kind}`)
    }
    default:
      return must(`JSON, not ${typeof value}`)
  }
}

function hasToJson(value: unknown): value is { readonly toJSON: (name: string) => unknown } {
  const isAsked = typeof value === 'object' || typeof value === 'bigint'
  return isAsked && typeof (value as { readonly toJSON?: unknown } | null)?.toJSON === 'function'
}

/** Returns the kind of a value, such as Array, Map or Date, in any realm. */
function kindOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1)
}
