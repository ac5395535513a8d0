import type { FoldingConsumer } from './campaign-stack.ts'

/** Only one user is changed, but all of them are compared. */
export const ONE_USER = '(SELECT user_id FROM users ORDER BY user_id LIMIT 1)'
const ONE_WITH_EVENTS = '(SELECT user_id FROM user_events ORDER BY user_id LIMIT 1)'

/** Older than every fence. */
const A_KEY = '00000000-0000-7000-8000-000000000000'

const USED_PARTITION = '(SELECT partition FROM checkpoints WHERE next_offset > 1 ORDER BY partition LIMIT 1)'

/** A change of rows: its consumer, the findings of the audit, the statement, and the statement that undoes it. */
type Tampering = readonly [FoldingConsumer, string | readonly string[], string, string]

const TAMPERED_ROWS: readonly Tampering[] = [
  [
    'user-projector',
    'users.user_events: count',
    `UPDATE user_events SET count = count + 1 WHERE user_id = ${ONE_WITH_EVENTS}`,
    `UPDATE user_events SET count = count - 1 WHERE user_id = ${ONE_WITH_EVENTS}`,
  ],
  [
    'user-projector',
    'users.users: traits',
    `UPDATE users SET traits = (traits::jsonb - 'plan' || jsonb_build_object('lost', traits->'plan'))::json WHERE user_id = ${ONE_USER}`,
    `UPDATE users SET traits = (traits::jsonb - 'lost' || jsonb_build_object('plan', traits->'lost'))::json WHERE user_id = ${ONE_USER}`,
  ],
  [
    'user-projector',
    ['users.segment_members: missing', 'form-events: no SegmentEntered', 'form-events: no SegmentLeft'],
    `UPDATE segment_members SET segment_id = 'another' WHERE segment_id = 'paying'`,
    `UPDATE segment_members SET segment_id = 'paying' WHERE segment_id = 'another'`,
  ],
  [
    'user-projector',
    'users.segment_counts: members',
    'UPDATE segment_counts SET members = members + 1',
    'UPDATE segment_counts SET members = members - 1',
  ],
  [
    'metering',
    'metering.counters: count',
    `UPDATE counters SET count = count + 1 WHERE kind = 'mau'`,
    `UPDATE counters SET count = count - 1 WHERE kind = 'mau'`,
  ],
  [
    'metering',
    'metering.unique_names: not in the log',
    `UPDATE unique_names SET slug = 'another' WHERE slug = 'signed_in'`,
    `UPDATE unique_names SET slug = 'signed_in' WHERE slug = 'another'`,
  ],
  [
    'metering',
    'metering.usage: events',
    `UPDATE usage SET events = events - 1`,
    `UPDATE usage SET events = events + 1`,
  ],
  [
    'trait-registry',
    'registry.definitions: firstSeenAt',
    `UPDATE definitions SET first_seen_at = first_seen_at + interval '1 s'`,
    `UPDATE definitions SET first_seen_at = first_seen_at - interval '1 s'`,
  ],
  [
    'form-trigger-evaluator',
    'forms.queue: missing',
    `UPDATE queue SET user_id = id, id = user_id WHERE state = 'delivered'`,
    `UPDATE queue SET user_id = id, id = user_id WHERE state = 'delivered'`,
  ],
  [
    'form-trigger-evaluator',
    'forms.decisions: outcome',
    `UPDATE decisions SET outcome = 'queued ' WHERE outcome = 'queued'`,
    `UPDATE decisions SET outcome = 'queued' WHERE outcome = 'queued '`,
  ],
  [
    'form-trigger-evaluator',
    'forms.decisions: gates',
    `UPDATE decisions SET gates = gates #- '{0,compared,now}' || jsonb_build_object('was', gates)`,
    `UPDATE decisions SET gates = gates -> -1 -> 'was'`,
  ],
  [
    'form-trigger-evaluator',
    'forms.decisions: trigger',
    `UPDATE decisions SET trigger = jsonb_build_object('was', trigger)`,
    `UPDATE decisions SET trigger = trigger -> 'was'`,
  ],
  [
    'form-trigger-evaluator',
    'forms.queue: offeredAt',
    `UPDATE queue SET state = 'offered', offered_at = now() WHERE state = 'waiting'`,
    `UPDATE queue SET state = 'waiting', offered_at = NULL WHERE state = 'offered'`,
  ],
  [
    'form-trigger-evaluator',
    'forms.event_occurrences: latest',
    `UPDATE event_occurrences SET latest_ms[1] = latest_ms[1] - 1`,
    `UPDATE event_occurrences SET latest_ms[1] = latest_ms[1] + 1`,
  ],
  [
    'form-trigger-evaluator',
    'forms.event_occurrences: missedAt',
    `UPDATE event_occurrences SET missed_at = '1970-01-01' WHERE missed_at IS NULL`,
    `UPDATE event_occurrences SET missed_at = NULL WHERE missed_at = '1970-01-01'`,
  ],
  [
    'trait-registry',
    'trait-registry erased_users: keysUntil',
    `UPDATE erased_users SET keys_until = keys_until - interval '1 s'`,
    `UPDATE erased_users SET keys_until = keys_until + interval '1 s'`,
  ],
  [
    'metering',
    'metering erased_users: missing',
    `UPDATE erased_users SET project = project || ' '`,
    `UPDATE erased_users SET project = trim(project)`,
  ],
  [
    'user-projector',
    'user-projector user_keys: fenced',
    `INSERT INTO user_keys (user_id, key_id, wrapped, partition) SELECT user_id, '${A_KEY}', '', partition FROM erased_users`,
    `DELETE FROM user_keys WHERE key_id = '${A_KEY}'`,
  ],
  [
    'form-trigger-evaluator',
    'dead letters: not erased',
    `UPDATE dead_letters SET value = 'kept' WHERE value IS NULL`,
    `UPDATE dead_letters SET value = NULL WHERE value = 'kept'`,
  ],
  [
    'answer-collector',
    'answers.offers: queuedAt',
    `UPDATE offers SET queued_at = queued_at + interval '1 s'`,
    `UPDATE offers SET queued_at = queued_at - interval '1 s'`,
  ],
  [
    'answer-collector',
    'answers.funnels: count',
    // Rows of expired forms may be added meanwhile.
    `UPDATE funnels SET count = count + 1 WHERE step = 'queued'`,
    `UPDATE funnels SET count = count - 1 WHERE step = 'queued'`,
  ],
]

/** They are apart, because the audit compares rows with the part of the log that a checkpoint names. */
const TAMPERED_CHECKPOINTS: readonly Tampering[] = [
  [
    'trait-registry',
    'checkpoints: behind',
    `UPDATE checkpoints SET next_offset = next_offset - 1 WHERE partition = ${USED_PARTITION}`,
    `UPDATE checkpoints SET next_offset = next_offset + 1 WHERE partition = ${USED_PARTITION}`,
  ],
  [
    'metering',
    'checkpoints: beyond the log',
    `UPDATE checkpoints SET next_offset = next_offset + 1`,
    `UPDATE checkpoints SET next_offset = next_offset - 1`,
  ],
]

/** The table of a change. */
function tableOf([service, , tamper]: Tampering): string {
  const [, table] = /^(?:UPDATE|INSERT INTO) (\w+)/.exec(tamper) ?? []
  return `${service} ${table}`
}

/** Returns rounds of changes. The nth round has the nth change of each table, so that no change hides another one. */
function roundsOf(changes: readonly Tampering[]): readonly (readonly Tampering[])[] {
  const ofTables = [...Map.groupBy(changes, tableOf).values()]
  const rounds = Math.max(...ofTables.map(({ length }) => length))
  return Array.from({ length: rounds }, (_, nth) => ofTables.flatMap((ofTable) => ofTable.slice(nth, nth + 1)))
}

/** All changes. One audit, which takes about a second, finds those of a round. */
export const TAMPERED_ROUNDS = [...roundsOf(TAMPERED_ROWS), TAMPERED_CHECKPOINTS].map((changes) => ({
  tables: changes.map(tableOf).join(', '),
  changes,
}))
