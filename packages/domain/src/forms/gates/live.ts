import type { Gate } from './gate.ts'

/** Passes while the form is enabled and between its dates. */
export const live: Gate<'live'> = {
  atVisit: true,
  reasons: { 'not-live': 'the form was not live at that moment' },
  setting: () => undefined,
  describe: ({ enabled, startsAt, endsAt, now }) =>
    [enabled ? 'enabled' : 'disabled', startsAt && `from ${startsAt}`, endsAt && `until ${endsAt}`, `at ${now}`]
      .filter(Boolean)
      .join(', '),
  compile: ({ enabled, startsAt, endsAt }) => {
    const startsAtMs = startsAt === undefined ? -Infinity : Date.parse(startsAt)
    const endsAtMs = endsAt === undefined ? Infinity : Date.parse(endsAt)
    const dates = { startsAt: utcOf(startsAt), endsAt: utcOf(endsAt) }
    return {
      reason: 'not-live',
      whileWaiting: true,
      check: (_user, now) => ({
        gate: 'live',
        passed: enabled && now.ms >= startsAtMs && now.ms < endsAtMs,
        compared: { enabled, ...dates, now: now.iso },
      }),
    }
  },
}

/** Converts a date of the workspace file, which may have any offset, to UTC. */
function utcOf(date: string | undefined): string | null {
  return date === undefined ? null : new Date(date).toISOString()
}
