import { durationMs } from '@nextvisit/contracts'
import { timesInWords } from '../../conditions/condition-words.ts'
import { hasPassed } from '../../time/moment.ts'
import type { ComparedValues, Gate } from './gate.ts'

/** Limits how often a user gets the form. Waiting and delivered rows count; cancelled and expired ones do not. */
export const repeat: Gate<'repeat'> = {
  atVisit: false,
  reasons: {
    'repeat-exhausted': 'the form was queued before (shown, or still waiting) as often as its frequency allows',
    'too-soon': 'the user has had the form too recently',
  },
  setting: ({ frequency: { repeat: rule } }) => ({
    name: 'Frequency',
    words: rule === 'always' ? 'whenever a trigger matches' : `${frequencyInWords(rule)} per user`,
  }),
  describe: ({ rule, timesQueued, lastShownAt }) => {
    const queued = timesQueued === 0 ? 'not queued' : `queued ${timesInWords(timesQueued)}`
    const shown = lastShownAt === null ? 'never shown yet' : `last shown ${lastShownAt}`
    return `${frequencyInWords(rule)}; ${queued} before, ${shown}`
  },
  compile: ({ id, frequency: { repeat: rule } }) => {
    const everyMs = typeof rule === 'object' && 'every' in rule ? durationMs(rule.every) : undefined
    const times = rule === 'once' ? 1 : typeof rule === 'object' && 'times' in rule ? rule.times : Infinity
    return {
      reason: everyMs === undefined ? 'repeat-exhausted' : 'too-soon',
      check: ({ queue: { shown, open } }, now) => {
        const shownForm = shown.get(id)
        const timesQueued = (shownForm?.times ?? 0) + (open.has(id) ? 1 : 0)
        const lastShownAt = shownForm?.lastAt ?? null
        const passed = everyMs === undefined ? timesQueued < times : hasPassed(lastShownAt, everyMs, now)
        return { gate: 'repeat', passed, compared: { rule, timesQueued, lastShownAt } }
      },
    }
  },
}

/** Returns a frequency in words: `{ every: 30d }` becomes `every 30d`. */
function frequencyInWords(rule: ComparedValues<'repeat'>['rule']): string {
  if (typeof rule === 'string') return rule
  return 'every' in rule ? `every ${rule.every}` : `at most ${timesInWords(rule.times)}`
}
