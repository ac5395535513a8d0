import type { UserFact } from './facts.ts'
import type { Findings } from './findings.ts'
import { userIdOf } from './uuid-v5.ts'

/** What a caller knows about one request: what it sent, and the answer, if any. */
export interface LedgerEntry {
  readonly organization: string
  readonly project: string
  readonly userName: string
  /** HTTP status. Undefined: the connection broke, so the caller cannot know. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  /** With an `Idempotency-Key` a request may be sent, and recorded, more than once. */
  readonly keyed: boolean
  /** Of a tracked event. */
  readonly eventName?: string
  readonly newEvent?: boolean
  /** Absent where triggers were to be evaluated later: 0 was correct at that moment. */
  readonly formsQueued?: number
}

/** Compares the callers' answers with the log. `see` is called with every readable record. */
export interface LedgerModel {
  readonly see: (fact: UserFact) => void
  /** `queuedBy`: how many forms each record put into the queue. */
  readonly compare: (queuedBy: ReadonlyMap<string, number>, findings: Findings) => void
}

interface InLog {
  times: number
}

/** The ledger holds every request of its projects, so a record without a request is a difference, too. */
export function createLedgerModel(entries: readonly LedgerEntry[]): LedgerModel {
  const asked = new Map<string, InLog>()
  const unknownOf = new Map<string, number>()
  for (const entry of entries) {
    if (entry.requestId !== undefined) asked.set(entry.requestId, { times: 0 })
    else unknownOf.set(userOf(entry), (unknownOf.get(userOf(entry)) ?? 0) + 1)
  }
  const unasked: string[] = []

  return {
    see: (fact) => {
      if (fact.type === 'VisitAnswered') return
      const inLog = asked.get(fact.id)
      if (inLog) inLog.times += 1
      else if (!takeOne(unknownOf, fact.userId)) unasked.push(fact.id)
    },

    compare: (queuedBy, findings) => {
      for (const id of unasked) findings.add('ledger: nobody asked', id, 'is in the log, and no caller asked for it')
      const registered = new Set<string>()
      for (const entry of entries) compareEntry(entry, entry.requestId && asked.get(entry.requestId), findings)
      for (const { status, requestId = '', formsQueued, ...entry } of entries) {
        if (!isAcknowledged(status)) continue
        const queued = queuedBy.get(requestId) ?? 0
        if (formsQueued !== undefined && formsQueued !== queued) {
          findings.add('ledger: formsQueued', requestId, `was told ${formsQueued}, and ${queued} were queued`)
        }
        if (!entry.newEvent || entry.keyed) continue
        const event = `${entry.organization}/${entry.project}/${entry.eventName}`
        if (registered.has(event)) findings.add('ledger: newEvent', requestId, 'was told so, and another was before')
        registered.add(event)
      }
    },
  }
}

/** 503 may mean that the outcome is not known: once in the log, or not at all. No other refusal may be there. */
function compareEntry(
  { status, requestId = '', keyed }: LedgerEntry,
  inLog: InLog | '' | undefined,
  findings: Findings,
) {
  const times = inLog ? inLog.times : 0
  if (isAcknowledged(status)) {
    if (times === 0) findings.add('ledger: lost', requestId, `was answered ${status} and is not in the log`)
  } else if (status !== undefined && status !== 503 && times > 0 && !keyed) {
    findings.add('ledger: refused', requestId, `was answered ${status} and is in the log`)
  }
  if (times > 1 && !keyed) findings.add('ledger: twice', requestId, `is ${times} times in the log`)
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
