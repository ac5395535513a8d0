import type { LedgerEntry, TopicRecord } from '@nextvisit/testing/black-box'
import { LIMIT } from './race-families.ts'
import type { Race } from './run-race.ts'

/** The figures of one race: what its callers were told, and what is in the log. */
export interface Tally {
  readonly asked: number
  readonly passed: number
  readonly refused: number
  /** 503, or the connection broke: the caller can't know. 408: too slow a caller, on a machine that has too much to do. */
  readonly unknown: number
  /** Units under the limit that are in the log. */
  readonly inLog: number
  /** Those among them that only unchecked records brought in. */
  readonly uncheckedUnits: number
  /** Records that say this limit was not checked. */
  readonly unchecked: number
}

const isPass = ({ status = 0 }: LedgerEntry) => status >= 200 && status < 300
const isUnknown = ({ status }: LedgerEntry) => status === undefined || status === 503 || status === 408
const idOf = ({ requestId = '' }: LedgerEntry) => requestId

type Value = TopicRecord['value']

/** The race's own records, in an organization that nobody else uses. */
export function recordsOf({ organization }: Race, records: readonly TopicRecord[]): readonly Value[] {
  return records.map(({ value }) => value).filter((value) => value['organization'] === organization)
}

/** Counts from answers and log alone; it shares no code with the services. */
export function tallyRace(race: Race, records: readonly TopicRecord[]): Tally {
  const { entries, family } = race
  const own = recordsOf(race, records)
  const isUnchecked = (value: Value) => checksMissing(value).includes(family.check)
  const units = new Set(own.flatMap(family.unitsOf))
  const checked = new Set(own.filter((value) => !isUnchecked(value)).flatMap(family.unitsOf))
  const stripped = new Set(own.filter(isStripped).map((value) => value['id']))
  const isRefused = (entry: LedgerEntry) =>
    family.refusals.includes(entry.status ?? 0) || (isPass(entry) && stripped.has(idOf(entry)))
  return {
    asked: entries.length,
    passed: entries.filter((entry) => isPass(entry) && !isRefused(entry)).length,
    refused: entries.filter(isRefused).length,
    unknown: entries.filter(isUnknown).length,
    inLog: units.size,
    uncheckedUnits: units.size - checked.size,
    unchecked: own.filter(isUnchecked).length,
  }
}

const checksMissing = (value: Value) => (value['unchecked'] ?? []) as readonly string[]
const isStripped = (value: Value) => ((value['strippedTraits'] ?? []) as readonly string[]).length > 0

/** What is wrong with a race; nothing where all is well. */
export function faultsIn(race: Race, records: readonly TopicRecord[]): string[] {
  const own = recordsOf(race, records)
  return [
    ...faultsInAnswers(race, own),
    ...faultsInSums(race, tallyRace(race, records)),
    ...faultsInNewEvents(race, own),
  ].map((what) => `${race.organization}: ${what}`)
}

/** Whoever passed is in the log once, whoever was refused is not, and nobody was told anything else. */
function faultsInAnswers({ entries, family }: Race, own: readonly Value[]): string[] {
  const inLog = Map.groupBy(own, (value) => value['id'])
  return entries.flatMap((entry) => {
    const times = inLog.get(idOf(entry))?.length ?? 0
    const what = `${entry.status} ${String(entry.answer['message'])}, ${times} times in the log`
    if (isPass(entry)) return times === 1 ? [] : [what]
    if (isUnknown(entry)) return times <= 1 ? [] : [what]
    return family.refusals.includes(entry.status ?? 0) && times === 0 ? [] : [what]
  })
}

/** Never more than there is room for but by who was not checked; and no room is lost. */
function faultsInSums({ fault }: Race, { inLog, uncheckedUnits, unchecked }: Tally): string[] {
  const checked = inLog - uncheckedUnits
  return [
    ...(checked > LIMIT ? [`${checked} were checked and passed: more than ${LIMIT}`] : []),
    ...(inLog < LIMIT ? [`${inLog} passed: fewer than ${LIMIT}`] : []),
    ...(fault.leavesUnchecked && unchecked === 0 ? ['nothing was unchecked: the fault did not strike'] : []),
  ]
}

/** `newEvent` once a slug, in log and answers alike; at most once where the first's publish failed, or was not checked. */
function faultsInNewEvents({ entries }: Race, own: readonly Value[]): string[] {
  const tracked = own.filter((value) => value['type'] === 'EventTracked')
  const toldNew = new Set(entries.filter(({ answer }) => answer['newEvent'] === true).map(idOf))
  const mayBeLess = entries.some(isUnknown) || own.some((value) => checksMissing(value).includes('event-name'))
  return [...Map.groupBy(tracked, (value) => String(value['slug']))].flatMap(([slug, carrying]) => {
    const inLog = carrying.filter((value) => value['newEvent'] === true).length
    const inAnswers = carrying.filter((value) => toldNew.has(String(value['id']))).length
    const isRight = inLog === 1 && inAnswers === 1
    return isRight || (mayBeLess && inLog <= 1 && inAnswers <= inLog)
      ? []
      : [`${slug} is new ${inLog} times in the log, ${inAnswers} times in answers`]
  })
}
