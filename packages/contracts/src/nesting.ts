/** Maximum levels of a form, segment or key, itself included. `apply` refuses deeper ones. */
export const MAX_LEVELS = 64

/** Returns true if a JSON value has more levels of objects and lists. Does not recurse. */
export function isDeeperThan(json: unknown, maxLevels: number): boolean {
  let level: readonly unknown[] = [json]
  for (let depth = 0; depth < maxLevels && level.length > 0; depth += 1)
    level = level.filter(isObject).flatMap(Object.values)
  return level.some(isObject)
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
