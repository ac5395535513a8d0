import type { TopicRecord } from '@nextvisit/testing/black-box'
import type { Call } from './caller.ts'
import { LIMIT } from './race-families.ts'
import type { Race } from './run-race.ts'

/** The result of one race: the callers' answers, and the records in the log. */
interface RaceResult {
  readonly asked: number
  readonly passed: number
  readonly refused: number
  /** Requests with an outcome unknown to the caller: 503, a lost connection, or 408 on an overloaded machine. */
  readonly unknown: number
  /** Units under the limit, in the log. */
  readonly inLog: number
  /** Units of unchecked records. A later record of the same name passes as known, so it counts as checked. */
  readonly uncheckedUnits: number
  /** Records marked as unchecked for this limit. */
  readonly unchecked: number
}

const isPass = ({ status = 0 }: Call) => status >= 200 && status < 300
const isUnknown = ({ status }: Call) => status === undefined || status === 503 || status === 408
const idOf = ({ requestId = '' }: Call) => requestId

type Value = TopicRecord['value']

/** Returns the records of a race's organization. No other race uses it. */
export function recordsOf({ organization }: Race, records: readonly TopicRecord[]): readonly Value[] {
  return records.map(({ value }) => value).filter((value) => value['organization'] === organization)
}

/** Computes the result from the answers and the log. It shares no code with the services. */
export function raceResult(race: Race, records: readonly TopicRecord[]): RaceResult {
  const { calls, family } = race
  const own = recordsOf(race, records)
  const isUnchecked = (value: Value) => checksMissing(value).includes(family.check)
  const units = new Set(own.flatMap(family.unitsOf))
  const uncheckedUnits = new Set(own.filter(isUnchecked).flatMap(family.unitsOf))
  const stripped = new Set(own.filter(isStripped).map((value) => value['id']))
  const isRefused = (call: Call) =>
    family.refusals.includes(call.status ?? 0) || (isPass(call) && stripped.has(idOf(call)))
  return {
    asked: calls.length,
    passed: calls.filter((call) => isPass(call) && !isRefused(call)).length,
    refused: calls.filter(isRefused).length,
    unknown: calls.filter(isUnknown).length,
    inLog: units.size,
    uncheckedUnits: uncheckedUnits.size,
    unchecked: own.filter(isUnchecked).length,
  }
}

const checksMissing = (value: Value) => (value['unchecked'] ?? []) as readonly string[]
const isStripped = (value: Value) => ((value['strippedTraits'] ?? []) as readonly string[]).length > 0

/** Lists the errors of a race; empty if there are none. */
export function raceErrors(race: Race, records: readonly TopicRecord[]): string[] {
  const own = recordsOf(race, records)
  return [...answerErrors(race, own), ...sumErrors(race, raceResult(race, records)), ...newEventErrors(race, own)].map(
    (what) => `${race.organization}: ${what}`,
  )
}

/** Checks that each passed request is in the log once and no refused request is. Any other answer is an error. */
function answerErrors({ calls, family }: Race, own: readonly Value[]): string[] {
  const inLog = Map.groupBy(own, (value) => value['id'])
  return calls.flatMap((call) => {
    const times = inLog.get(idOf(call))?.length ?? 0
    const what = `${call.status} ${String(call.answer['message'])}, ${times} times in the log`
    if (isPass(call)) return times === 1 ? [] : [what]
    if (isUnknown(call)) return times <= 1 ? [] : [what]
    return family.refusals.includes(call.status ?? 0) && times === 0 ? [] : [what]
  })
}

/** Checks that only unchecked records exceed the room, and that no room is lost. */
function sumErrors({ fault }: Race, result: RaceResult): string[] {
  const { inLog, uncheckedUnits, unchecked } = result
  const checked = inLog - uncheckedUnits
  return [
    ...(checked > LIMIT ? [`${checked} were checked and passed: more than ${LIMIT} (${JSON.stringify(result)})`] : []),
    ...(inLog < LIMIT ? [`${inLog} passed: fewer than ${LIMIT}`] : []),
    ...(fault.leavesUnchecked && unchecked === 0 ? ['nothing was unchecked: the fault did not strike'] : []),
  ]
}

/**
 * Checks that `newEvent` is true once per slug in the log and the answers; at most once if the first publish failed or
 * was unchecked.
 */
function newEventErrors({ calls }: Race, own: readonly Value[]): string[] {
  const tracked = own.filter((value) => value['type'] === 'EventTracked')
  const answeredNew = new Set(calls.filter(({ answer }) => answer['newEvent'] === true).map(idOf))
  const mayBeLess = calls.some(isUnknown) || own.some((value) => checksMissing(value).includes('event-name'))
  return [...Map.groupBy(tracked, (value) => String(value['slug']))].flatMap(([slug, carrying]) => {
    const inLog = carrying.filter((value) => value['newEvent'] === true).length
    const inAnswers = carrying.filter((value) => answeredNew.has(String(value['id']))).length
    const isRight = inLog === 1 && inAnswers === 1
    return isRight || (mayBeLess && inLog <= 1 && inAnswers <= inLog)
      ? []
      : [`${slug} is new ${inLog} times in the log, ${inAnswers} times in answers`]
  })
}
