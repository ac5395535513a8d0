/** Maximum number of levels of a call. The gateway accepts fewer. */
const MAX_LEVELS = 20
const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * Serializes a value as JSON. Throws an error that names the first member that JSON cannot express, or would drop or change
 * silently: it writes NaN as null and a Map as {}, and omits functions. Undefined members are omitted. Objects with
 * `toJSON`, such as dates, are replaced by its result.
 */
export function toJson(value: object): string {
  check(value, '', [])
  return JSON.stringify(value)
}

/** Throws an error that names the first such member. `parents`: the objects around the value. */
function check(value: unknown, path: string, parents: readonly unknown[]): void {
  const must = (what: string, at = path): never => {
    throw new TypeError(`${at} must ${what}`)
  }
  const type = typeof value
  if (LONE_SURROGATE.test(type === 'string' ? (value as string) : '')) must('be well-formed Unicode')
  if (type === 'number' && !Number.isFinite(value)) must(`be a finite number, not ${value as number}`)
  if (value === null || type === 'string' || type === 'number' || type === 'boolean') return
  const kind = kindOf(value)
  const isArray = kind === 'Array'
  if (!isArray && kind !== 'Object') must(`be JSON, not ${type === 'object' ? kind : type}`)
  if (parents.includes(value)) must('not contain itself')
  if (parents.length === MAX_LEVELS) must(`have at most ${MAX_LEVELS} levels`)
  const members = value as Readonly<Record<string, unknown>>
  // The copy of a list has no holes.
  for (const name of Object.keys(isArray ? [...(value as unknown[])] : members)) {
    const memberPath = isArray ? `${path}[${name}]` : path ? `${path}.${name}` : name
    if (LONE_SURROGATE.test(name)) must('be named in well-formed Unicode', memberPath)
    const given = members[name] as { readonly toJSON?: (name: string) => unknown } | null | undefined
    const member = typeof given?.toJSON === 'function' ? given.toJSON(name) : given
    if (member === null && kindOf(given) === 'Date') must('be a valid date', memberPath)
    if (member !== undefined || isArray) check(member, memberPath, [...parents, value])
  }
}

/** Returns the kind of a value, such as Array, Map or Date, in any realm. */
function kindOf(value: unknown): string {
  return {}.toString.call(value).slice(8, -1)
}
