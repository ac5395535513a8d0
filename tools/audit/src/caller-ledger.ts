import type { ClearFact } from './facts.ts'
import type { Findings } from './findings.ts'
import { userIdOf } from './uuid-v5.ts'

/** A caller's record of one request and its answer, if any. */
export interface LedgerEntry {
  readonly organization: string
  readonly project: string
  readonly userName: string
  /** HTTP status; undefined if the connection broke and the outcome is unknown. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  /** True if it had an `Idempotency-Key`, so that it may be sent and recorded more than once. */
  readonly keyed: boolean
  /** Name of a tracked event. */
  readonly eventName?: string
  readonly newEvent?: boolean
  /** Number of queued forms in the answer; absent if triggers are evaluated later, when 0 was correct at that moment. */
  readonly formsQueued?: number
}

/** Creates the model of a ledger. It has all requests of its projects, so a record without a request is a difference, too. */
export function createLedgerModel(entries: readonly LedgerEntry[]) {
  const asked = new Map<string, { times: number }>()
  const unknownOf = new Map<string, number>()
  for (const entry of entries) {
    if (entry.requestId !== undefined) asked.set(entry.requestId, { times: 0 })
    else unknownOf.set(userOf(entry), (unknownOf.get(userOf(entry)) ?? 0) + 1)
  }
  const unasked: string[] = []

  return {
    /** Receives every readable record. */
    see: (fact: ClearFact): void => {
      if (fact.type === 'VisitAnswered' || fact.type === 'UserErased') return
      const inLog = asked.get(fact.id)
      if (inLog) inLog.times += 1
      else if (!takeOne(unknownOf, fact.userId)) unasked.push(fact.id)
    },

    /** Reports differences. `queuedBy`: number of forms that each record queued. */
    compare: (queuedBy: ReadonlyMap<string, number>, findings: Findings): void => {
      for (const id of unasked) findings.add('ledger: no request', id, 'is in the log, but no caller sent it')
      const registered = new Set<string>()
      for (const entry of entries) compareEntry(entry, asked.get(entry.requestId ?? '')?.times ?? 0, findings)
      for (const { status, requestId = '', formsQueued, ...entry } of entries) {
        if (!isAcknowledged(status)) continue
        const queued = queuedBy.get(requestId) ?? 0
        if (formsQueued !== undefined && formsQueued !== queued) {
          findings.add('ledger: formsQueued', requestId, `was answered ${formsQueued}, but ${queued} were queued`)
        }
        if (!entry.newEvent || entry.keyed) continue
        const event = `${entry.organization}/${entry.project}/${entry.eventName}`
        if (registered.has(event))
          findings.add('ledger: newEvent', requestId, 'was answered newEvent, as was an earlier request')
        registered.add(event)
      }
    },
  }
}

/**
 * Compares one request with the number of its records. A record answered 503 may be in the log once or not at all; records
 * with other refusals must not be.
 */
function compareEntry({ status, requestId = '', keyed }: LedgerEntry, times: number, findings: Findings): void {
  if (isAcknowledged(status)) {
    if (times === 0) findings.add('ledger: lost', requestId, `was answered ${status}, but is not in the log`)
  } else if (status !== undefined && status !== 503 && times > 0 && !keyed) {
    findings.add('ledger: refused', requestId, `was answered ${status}, but is in the log`)
  }
  if (times > 1 && !keyed) findings.add('ledger: twice', requestId, `is in the log ${times} times`)
}

function isAcknowledged(status: number | undefined): boolean {
  return status !== undefined && status < 300
}

function userOf({ organization, project, userName }: LedgerEntry): string {
  return userIdOf(organization, project, userName)
}

function takeOne(counts: Map<string, number>, key: string): boolean {
  const left = counts.get(key) ?? 0
  if (left > 0) counts.set(key, left - 1)
  return left > 0
}
