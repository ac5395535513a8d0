import { ageOfKey } from './send.ts'
import { attempt } from './store.ts'

const HOUR_MS = 3_600_000
/**
 * Maximum age in ms of the stored values of any user, by kind. Below that of timers, 24 days, for what is sent again. The first
 * kinds get room first: forms are large, and only the browser has answers and events.
 */
export const MAX_AGES_MS = {
  // Below the 24 h for which the gateway's log knows keys: an older answer that is sent again would count as a new one.
  answers: 23 * HOUR_MS,
  // The gateway sets the time of an event at its arrival, so that of a later one would be wrong.
  event: HOUR_MS,
  // The marks of answers that another tab may still send.
  'replaced-answers': 23 * HOUR_MS,
  retry: 2 * HOUR_MS,
  visit: 24 * HOUR_MS,
  form: 720 * HOUR_MS,
}
/** Maximum number of values of each kind. */
const MAX_VALUES = 100
/** Maximum size of all values, in characters. Pages of one site have about five million. */
const MAX_CHARACTERS = 500_000

/**
 * Removes stored values of all users that are too old, and the oldest ones that are too many: a user may never return. A value
 * with a name of this form but without a time is removed as the oldest: nothing else would ever remove it.
 */
export function sweep(): void {
  attempt((storage) => {
    let characters = MAX_CHARACTERS
    for (const [kind, maxAgeMs] of Object.entries(MAX_AGES_MS)) {
      const found = Object.keys(storage).flatMap((name) => {
        const [product, , ofKind, key] = name.split(':')
        if (product !== 'nextvisit' || ofKind !== kind) return []
        const value = storage.getItem(name) ?? ''
        // Keys begin with their time, and so do the values without a key.
        return [[ageOfKey(key || value), name.length + value.length, name] as const]
      })
      const newestFirst = found.toSorted((one, other) => one[0] - other[0])
      newestFirst.forEach(([ageMs, size, name], at) => {
        if (ageMs < maxAgeMs && size <= characters && at < MAX_VALUES) characters -= size
        else storage.removeItem(name)
      })
    }
  })
}
