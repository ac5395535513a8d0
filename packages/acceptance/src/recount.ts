import type { LedgerEntry } from './caller-ledger.ts'
import type { TopicRecord } from './read-topic.ts'

/** What one user must look like, counted from the log alone. */
export interface ExpectedUser {
  readonly userName: string
  readonly increments: number
  readonly events: ReadonlyMap<string, number>
}

/**
 * Folds the topic the simple way: per user the sum of `$increment visits` and the number of each event. It shares no
 * code with the services.
 */
export function recountUsers(records: readonly TopicRecord[]): Map<string, ExpectedUser> {
  const users = new Map<string, { userName: string; increments: number; events: Map<string, number> }>()
  for (const { value } of records) {
    if (value['type'] === 'VisitAnswered') continue
    const userName = String(value['userName'])
    const user = users.get(userName) ?? { userName, increments: 0, events: new Map<string, number>() }
    users.set(userName, user)
    if (value['type'] === 'EventTracked') {
      const slug = String(value['slug'])
      user.events.set(slug, (user.events.get(slug) ?? 0) + 1)
    } else {
      const operations = value['operations'] as { increment?: { visits?: number } }
      user.increments += operations.increment?.visits ?? 0
    }
  }
  return users
}

/** The differences between what callers were told and what is in the log; none where all is well. */
export function compareWithLedger(entries: readonly LedgerEntry[], records: readonly TopicRecord[]): string[] {
  const timesInLog = new Map<string, number>()
  for (const { value } of records) {
    const id = String(value['id'])
    timesInLog.set(id, (timesInLog.get(id) ?? 0) + 1)
  }
  const differences: string[] = []
  for (const entry of entries) {
    if (entry.status === undefined || entry.requestId === undefined) continue
    const times = timesInLog.get(entry.requestId) ?? 0
    const isAcknowledged = entry.status < 300
    // 503 may mean "outcome unknown": once in the log or not at all. Any other refusal must not be there.
    if (isAcknowledged && times !== 1)
      differences.push(`${entry.status} ${entry.requestId} is ${times} times in the log`)
    if (!isAcknowledged && times > (entry.status === 503 ? 1 : 0)) {
      differences.push(`${entry.status} ${entry.requestId} is ${times} times in the log`)
    }
  }
  return differences
}
