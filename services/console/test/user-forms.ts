import type { FormDecision, QueuedForm } from '@nextvisit/contracts'

export const AT = '2026-11-23T03:00:00.000Z'
export const REQUEST = '01a2066e-3ec0-780c-9db5-05517574891e'
export const OTHER_REQUEST = '01a2066e-3ec0-780c-9db5-055175748aaa'

/** Decision of the gate `audience`. */
export const refused: FormDecision = {
  formId: 'nps',
  decision: 'not-queued',
  reason: 'not-in-audience',
  at: AT,
  requestId: REQUEST,
  trigger: { event: 'checkout' },
  catalogRevision: 3,
  gates: [
    { gate: 'live', passed: true, compared: { enabled: true, startsAt: null, endsAt: null, now: AT } },
    {
      gate: 'audience',
      passed: false,
      compared: { leaf: { trait: 'email', is: 'a@b.example' }, negated: false, actual: 'ada@example.com' },
    },
  ],
}
/** A waiting form. */
export const row: QueuedForm = {
  queuedId: REQUEST,
  formId: 'nps',
  state: 'waiting',
  queuedAt: '2026-11-23T02:00:00.000Z',
  showFrom: '2026-11-23T02:00:00.000Z',
  expiresAt: null,
  offeredAt: null,
  deliveredAt: null,
  answerStatus: null,
  startedAt: null,
  endedAt: null,
  requestId: OTHER_REQUEST,
}
