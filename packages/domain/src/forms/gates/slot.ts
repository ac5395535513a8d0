import type { Gate } from './gate.ts'

/** Passes unless the form is in the user's queue: each form has one slot. */
export const slot: Gate<'slot'> = {
  atVisit: false,
  reasons: { 'already-waiting': 'the form was waiting for the user already' },
  setting: () => undefined,
  describe: ({ waiting }) => (waiting ? `${waiting.state} since ${waiting.queuedAt}` : 'free'),
  compile: ({ id }) => ({
    reason: 'already-waiting',
    check: ({ queue }) => {
      const row = queue.open.get(id)
      const waiting = row ? { state: row.state, queuedAt: row.queuedAt } : null
      return { gate: 'slot', passed: waiting === null, compared: { waiting } }
    },
  }),
}
