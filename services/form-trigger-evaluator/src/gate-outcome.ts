import type { GateOutcome } from '@nextvisit/contracts'
import type { GateCheck } from '@nextvisit/domain'

/** What a gate compared, for people: ISO instants, `null` for none. */
export function gateOutcomeOf(check: GateCheck): GateOutcome {
  const passed = check.reason === undefined
  switch (check.gate) {
    case 'live': {
      const { isEnabled: enabled, startsAt, endsAt, now } = check.compared
      const compared = { enabled, startsAt: instantOf(startsAt), endsAt: instantOf(endsAt), now: isoOf(now) }
      return { gate: check.gate, passed, compared }
    }
    case 'audience': {
      const { leaf, isNegated: negated, actual } = check.compared
      return { gate: check.gate, passed, compared: { leaf: leaf ?? null, negated, actual } }
    }
    case 'sample': {
      const { bucket, below: threshold } = check.compared
      return { gate: check.gate, passed, compared: { bucket: bucket ?? null, threshold } }
    }
    case 'repeat': {
      const { rule, timesQueued, lastShownAt } = check.compared
      return { gate: check.gate, passed, compared: { rule, timesQueued, lastShownAt: instantOf(lastShownAt) } }
    }
    case 'cooldown': {
      const { cooldownMs, lastShown: last } = check.compared
      const lastShown = last ? { formId: last.formId, at: isoOf(last.at), openOffer: last.isOffer } : null
      return { gate: check.gate, passed, compared: { cooldownSeconds: cooldownMs / 1_000, lastShown } }
    }
    case 'slot': {
      const { waiting } = check.compared
      const compared = { waiting: waiting ? { state: waiting.state, queuedAt: isoOf(waiting.queuedAt) } : null }
      return { gate: check.gate, passed, compared }
    }
  }
}

/** A date that was left out is infinite to the rules. */
function instantOf(ms: number | undefined): string | null {
  return ms === undefined || !Number.isFinite(ms) ? null : isoOf(ms)
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}
