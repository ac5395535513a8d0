import { durationMs } from '@nextvisit/contracts'
import { hasPassed, type Moment } from '../../time/moment.ts'
import { type Queue, stateAt } from '../queue/queue.ts'
import type { ComparedValues, Gate } from './gate.ts'

/** Passes once the project's cooldown is over since any form was shown. Without a cooldown, nothing is looked up. */
export const cooldown: Gate<'cooldown'> = {
  atVisit: true,
  reasons: { 'cooling-down': 'another form was shown too recently' },
  setting: ({ cooldown: { ignore } }, { formCooldown }) =>
    durationMs(formCooldown) > 0
      ? { name: 'Cooldown', words: ignore ? 'ignored' : `${formCooldown} after any form was shown` }
      : undefined,
  describe: ({ cooldownSeconds, lastShown }) => {
    if (cooldownSeconds === 0) return 'none'
    if (!lastShown) return `${cooldownSeconds} s since any form; none was shown before`
    const how = lastShown.openOffer ? 'offered' : 'shown'
    return `${cooldownSeconds} s since any form; ${lastShown.formId} was ${how} ${lastShown.at}`
  },
  compile: ({ cooldown: { ignore } }, { formCooldown }) => {
    const cooldownMs = ignore ? 0 : durationMs(formCooldown)
    return {
      reason: 'cooling-down',
      check: ({ queue }, now) => {
        const lastShown = cooldownMs === 0 ? null : findLastShown(queue, now)
        const passed = lastShown === null || hasPassed(lastShown.at, cooldownMs, now)
        return { gate: 'cooldown', passed, compared: { cooldownSeconds: cooldownMs / 1_000, lastShown } }
      },
    }
  },
}

/** Finds the form that was last shown to the user. An open offer counts as shown. */
function findLastShown({ shown, open }: Queue, now: Moment): ComparedValues<'cooldown'>['lastShown'] {
  let last: ComparedValues<'cooldown'>['lastShown'] = null
  for (const [formId, { lastAt }] of shown) {
    if (!last || lastAt > last.at) last = { formId, at: lastAt, openOffer: false }
  }
  for (const row of open.values()) {
    if (row.offeredAt === null || stateAt(row, now.ms) !== 'offered') continue
    if (!last || row.offeredAt > last.at) last = { formId: row.formId, at: row.offeredAt, openOffer: true }
  }
  return last
}
