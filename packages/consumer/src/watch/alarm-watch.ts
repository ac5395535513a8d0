import type { Db } from '@nextvisit/database'
import type { Logger } from '@nextvisit/log'
import { createOutageLog, messageOf } from '@nextvisit/service-kit'
import type { PartitionAlarm, ReportedPartition } from '../partition/partition-progress.ts'
import { createRounds, type Rounds } from './rounds.ts'
import { endAlarms, raiseAlarm, readSetAside } from './partition-alarms.ts'

interface AlarmWatchOptions {
  readonly db: Db
  readonly projection: string
  readonly reported: () => readonly ReportedPartition[]
  readonly logger: Logger
  readonly everyMs: number
}

/** An alarm that continues is written again after this time, ms, with its last error. */
const REPEAT_EVERY_MS = 10_000

/** The partition itself logs a halt. */
const LOG_LINES = {
  halted: undefined,
  stalled: 'This partition folds nothing although records wait; see docs/runbooks/lag.md',
  ticks: 'The ticks of this partition fail: nothing expires, no dead letter is retried; see docs/runbooks/lag.md',
}

type Place = Pick<ReportedPartition, 'topic' | 'partition'>

interface Found {
  readonly partition: ReportedPartition
  readonly alarm: PartitionAlarm
}

interface AlarmWatch extends Rounds {
  /** Returns the reason why alarms cannot be written at present. */
  readonly problem: () => string | undefined
  /** Returns true if this alarm is in Postgres. Before that, operators cannot set its record aside. */
  readonly isWritten: (partition: Place, alarm: PartitionAlarm) => boolean
}

/** Keeps the alarms of partitions in Postgres, and passes on operators' requests to set records aside. */
export function createAlarmWatch({ db, projection, reported, logger, everyMs }: AlarmWatchOptions): AlarmWatch {
  /** By {@link nameOf}. */
  const raised = new Map<string, Found & { readonly atMs: number }>()

  const unwritten = createOutageLog(logger, {
    began: 'Cannot write alarms, so nextvisit status does not show them',
    ended: 'Alarms are written again',
  })
  let problem: string | undefined

  /** Logs the first failure only: each round tries again. */
  async function runRound(): Promise<void> {
    try {
      await passOnAll()
      unwritten.end()
      problem = undefined
    } catch (err) {
      unwritten.begin({ err })
      problem = `alarms cannot be written: ${messageOf(err)}`
    }
  }

  async function passOnAll(): Promise<void> {
    const found = reported().flatMap((partition) => partition.progress().alarms.map((alarm) => ({ partition, alarm })))
    // Announces all of them before it writes the first, which may fail.
    for (const each of found) announce(each)
    for (const each of found) await raise(each)
    const names = new Set(found.map(nameOf))
    for (const [name, ended] of raised) if (!names.has(name)) await end(name, ended)
    const halted = found.filter(({ alarm }) => alarm.recordId !== undefined)
    for (const [topic, ofTopic] of Map.groupBy(halted, ({ partition }) => partition.topic))
      await passOnRequests(topic, ofTopic)
  }

  function announce(found: Found): void {
    const { alarm } = found
    const { topic, partition } = found.partition
    const known = raised.get(nameOf(found))
    const line = LOG_LINES[alarm.kind]
    const isNew = !known || (!isSame(known.alarm, alarm) && alarm.kind !== 'ticks')
    raised.set(nameOf(found), { ...found, atMs: isNew ? -Infinity : known.atMs })
    if (!isNew || !line) return
    const { offset, code, message } = alarm
    logger.error({ topic, partition, offset: String(offset), code, reason: message }, line)
  }

  async function raise(found: Found): Promise<void> {
    const { alarm } = found
    const { topic, partition } = found.partition
    const name = nameOf(found)
    if (performance.now() - (raised.get(name)?.atMs ?? -Infinity) < REPEAT_EVERY_MS) return
    await raiseAlarm(db, { projection, topic, partition }, alarm)
    raised.set(name, { ...found, atMs: performance.now() })
  }

  /** A halt ends with the commit that passes its offset. */
  async function end(name: string, { partition: ended, alarm }: Found): Promise<void> {
    const { topic, partition } = ended
    const isHere = (other: ReportedPartition) =>
      alarm.kind === 'ticks' ? other === ended : other.topic === topic && other.partition === partition
    if (alarm.kind !== 'halted' && reported().some(isHere)) {
      await endAlarms(db, { projection, topic, partition }, alarm.kind)
    }
    raised.delete(name)
  }

  async function passOnRequests(topic: string, halted: readonly Found[]): Promise<void> {
    const partitions = halted.map((found) => found.partition.partition)
    for (const { partition, offset, by } of await readSetAside(db, { projection, topic }, partitions)) {
      halted.find((found) => found.partition.partition === partition)?.partition.setAside(offset, by)
    }
  }

  const isWritten: AlarmWatch['isWritten'] = (partition, alarm) => {
    const known = raised.get(nameOf({ partition, alarm }))
    return known !== undefined && known.atMs > -Infinity && isSame(known.alarm, alarm)
  }

  return { ...createRounds(runRound, everyMs), problem: () => problem, isWritten }
}

/** Returns true if two alarms of a kind are about the same record. */
function isSame(one: PartitionAlarm, other: PartitionAlarm): boolean {
  return one.offset === other.offset && one.recordId === other.recordId
}

function nameOf({ partition, alarm }: { readonly partition: Place; readonly alarm: PartitionAlarm }): string {
  return `${partition.topic}/${partition.partition}/${alarm.kind}`
}
