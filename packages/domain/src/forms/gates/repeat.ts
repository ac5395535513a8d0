import { durationMs, frequencyRuleOf } from '@nextvisit/contracts'
import { timesInWords } from '../../conditions/condition-words.ts'
import { hasPassed } from '../../time/moment.ts'
import { isoInstant } from '../../time/iso-instant.ts'
import { finishedAtOf } from '../../users/answer-state.ts'
import type { Queue } from '../queue/queue.ts'
import type { CompiledGate, ComparedValues, Gate } from './gate.ts'

/**
 * Limits how often a user gets the form. Waiting and delivered rows count; cancelled and expired ones do not. `until: answered` counts
 * none: it passes until the user has finished the form, and a visit checks it again.
 */
export const repeat: Gate<'repeat'> = {
  atVisit: false,
  reasons: {
    'repeat-exhausted': 'the form was queued before (shown, or still waiting) as often as its frequency allows',
    'too-soon': 'the user has had the form too recently',
    answered: 'the user has answered the form',
  },
  setting: ({ frequency }) => {
    const rule = frequencyRuleOf(frequency)
    if (rule === 'always') return { name: 'Frequency', words: 'whenever a trigger matches' }
    const words = frequencyInWords(rule)
    return { name: 'Frequency', words: isUntil(rule) ? words : `${words} per user` }
  },
  describe: ({ rule, timesQueued, lastShownAt, finishedAt }) => {
    if (isUntil(rule)) return `${frequencyInWords(rule)}; ${finishedAt ? `finished ${finishedAt}` : 'never finished'}`
    const queued = timesQueued === 0 ? 'not queued' : `queued ${timesInWords(timesQueued)}`
    const shown = lastShownAt === null ? 'never shown yet' : `last shown ${lastShownAt}`
    return `${frequencyInWords(rule)}; ${queued} before, ${shown}`
  },
  compile: ({ id, frequency }) => {
    const rule = frequencyRuleOf(frequency)
    if (isUntil(rule)) return untilAnswered(id, rule)
    const everyMs = typeof rule === 'object' && 'every' in rule ? durationMs(rule.every) : undefined
    const times = rule === 'once' ? 1 : typeof rule === 'object' && 'times' in rule ? rule.times : Infinity
    return {
      reason: everyMs === undefined ? 'repeat-exhausted' : 'too-soon',
      check: ({ queue }, now) => {
        const { timesQueued, lastShownAt } = timesShown(queue, id)
        const passed = everyMs === undefined ? timesQueued < times : hasPassed(lastShownAt, everyMs, now)
        return { gate: 'repeat', passed, compared: { rule, timesQueued, lastShownAt } }
      },
    }
  },
}

type Rule = ComparedValues<'repeat'>['rule']
type Until = Extract<Rule, { readonly until: unknown }>

function isUntil(rule: Rule): rule is Until {
  return typeof rule === 'object' && 'until' in rule
}

function untilAnswered(formId: string, rule: Until): CompiledGate {
  return {
    reason: 'answered',
    whileWaiting: true,
    needsAnswersTo: formId,
    check: ({ queue, answers }) => {
      const finishedAt = finishedAtOf(answers.get(formId))
      const compared = {
        ...timesShown(queue, formId),
        finishedAt: finishedAt === undefined ? null : isoInstant(finishedAt),
      }
      return { gate: 'repeat', passed: finishedAt === undefined, compared: { rule, ...compared } }
    },
  }
}

function timesShown({ shown, open }: Queue, formId: string) {
  const shownForm = shown.get(formId)
  return {
    timesQueued: (shownForm?.times ?? 0) + (open.has(formId) ? 1 : 0),
    lastShownAt: shownForm?.lastAt ?? null,
  }
}

/** Returns a frequency in words: `{ every: 30d }` becomes `every 30d`. */
function frequencyInWords(rule: Rule): string {
  if (typeof rule === 'string') return rule
  if (isUntil(rule)) return 'until the user has answered the form'
  return 'every' in rule ? `every ${rule.every}` : `at most ${timesInWords(rule.times)}`
}
