import {
  addressesVariable,
  FAILED_SHARE,
  OUTBOX_LATE_AFTER_S,
  type ServiceName,
  STALLED_AFTER_S,
  type UnfinishedErasure,
  type UnhealthyEndpoint,
  VERY_LATE_AFTER_S,
} from '@nextvisit/contracts'
import type { PartitionReading } from '../metrics/read-process.ts'
import { type Sample, totalOf, totalsOf } from '../metrics/sample.ts'
import type { ServiceReading } from '../metrics/service-readings.ts'
import { partitionsOf } from '../services.ts'
import { isLate } from '../shared-with-pages.ts'
import type { Finding, FindingLink } from './api.ts'
import { erasureFindings } from './erasure-findings.ts'
import { limitFindings, type LimitParts } from './limit-findings.ts'
import { webhookFindings } from './webhook-findings.ts'

const RUNBOOKS = {
  lag: 'lag',
  halted: 'halted',
  deadLetters: 'dead-letters',
  upgrade: 'upgrade',
  gateway: 'gateway',
  secretKey: 'rotate-secrets',
} as const

interface FindingsParts extends LimitParts {
  readonly services: readonly ServiceReading[]
  /** Samples of the last five minutes. */
  readonly recent: readonly Sample[]
  readonly partitionCount: number
  /** Erasures that are not complete, as far as known. */
  readonly erasures: readonly UnfinishedErasure[]
  /** Webhook endpoints that need attention, as far as known. */
  readonly endpoints: readonly UnhealthyEndpoint[]
  /** Number of processes in the groups of consumers, where it is known. */
  readonly members: ReadonlyMap<string, number>
  readonly nowMs: number
}

/** Lists problems in words, worst first. */
export function findingsOf(parts: FindingsParts): readonly Finding[] {
  const { services, recent } = parts
  const findings = [
    ...services.flatMap((service) => [
      ...silenceOf(service),
      ...(service.isConsumer && service.answering > 0 ? foldingOf(service, parts) : []),
      ...catalogOf(service),
      ...secretsOf(service),
      ...breakersOf(service, services),
    ]),
    ...deadLettersOf(services),
    ...erasureFindings(parts.erasures),
    ...webhookFindings(parts.endpoints, parts.nowMs),
    ...answersOf(recent),
    ...limitFindings(parts),
  ]
  return findings.toSorted((one, other) => rankOf(one) - rankOf(other))
}

function rankOf({ severity }: Finding): number {
  return severity === 'critical' ? 0 : 1
}

type Parts = readonly [text: string, runbook?: string | null, ...links: readonly FindingLink[]]
const finding = (severity: Finding['severity'], [text, runbook = null, ...links]: Parts): Finding => ({
  severity,
  text,
  asOf: null,
  runbook,
  links,
})
const critical = (...parts: Parts): Finding => finding('critical', parts)
const warning = (...parts: Parts): Finding => finding('warning', parts)
const operationsLink = (consumer: string): FindingLink => ({ screen: 'operations', consumer })
const ALL_REFUSALS: FindingLink = { screen: 'refusals', project: null }

/** Effect for callers while no process of a service answers. */
const WITHOUT: Readonly<Record<ServiceName, string>> = {
  gateway: 'Requests of customers get no answer.',
  'user-projector': 'Profiles and segments are not updated, and reads of users fail.',
  'trait-registry': 'New names are admitted unchecked.',
  'answer-collector': 'Results and answers of forms are unavailable.',
  metering: 'Limits are not enforced: requests are admitted unchecked.',
  'form-trigger-evaluator': 'No form is queued or shown until it is back.',
  'user-eraser': 'Erasures of users wait until it is back.',
  'webhook-dispatcher': 'No webhook is sent until it is back; none is lost.',
}

function silenceOf({ service, processes, answering, silentProcesses, isConsumer }: ServiceReading): readonly Finding[] {
  if (answering === processes) return []
  const runbook = isConsumer ? RUNBOOKS.lag : RUNBOOKS.gateway
  const addresses = silentProcesses.join(', ')
  if (answering > 0) {
    const text = `${processes - answering} of ${processes} processes of ${service} do not answer: ${addresses}.`
    return [warning(text, runbook)]
  }
  const text = `${service} does not answer: it is stopped or hangs. ${new Map(Object.entries(WITHOUT)).get(service) ?? ''} Start it, or kill the hanging process so that it restarts: ${addresses}.`
  return [critical(text, runbook, ...(isConsumer ? [operationsLink(service)] : []))]
}

/** Counts the partitions of a consumer without an owner among the answering processes. */
export function countUnowned(reading: ServiceReading, partitionCount: number): number {
  const { service, isConsumer, answering, partitions } = reading
  return isConsumer && answering > 0 ? Math.max(0, partitionsOf(service, partitionCount) - partitions.size) : 0
}

/** Names the cause of partitions without a known owner, as far as the size of the consumer's group tells. */
function unownedInWords(
  { service, processes }: ServiceReading,
  unowned: number,
  { partitionCount, members }: Pick<FindingsParts, 'partitionCount' | 'members'>,
): string {
  const variable = addressesVariable(service)
  const count = members.get(service)
  const share = `${unowned} of ${partitionsOf(service, partitionCount)} partitions of ${service}`
  if (count !== undefined && count > processes)
    return `${share} belong to processes that the console does not know: ${count} processes fold, but its ${variable} has ${processes === 1 ? 'one address' : `${processes} addresses`}. Add the others there, and in the gateways' ${variable}, or use a name that has all addresses (dns+http).`
  const cause = count === undefined ? ` If it does not, ${variable} may lack the address of their owner.` : ''
  return `${share} have no owner among the answering processes. After a start this resolves within seconds.${cause}`
}

function foldingOf(reading: ServiceReading, parts: FindingsParts): readonly Finding[] {
  const { service, haltedPartitions, outboxSeconds, lagRecords } = reading
  const link = operationsLink(service)
  const findings: Finding[] = []
  if (haltedPartitions.length > 0)
    findings.push(
      critical(
        `${service} is halted on ${partitionsInWords(haltedPartitions)}: records there are not folded.`,
        RUNBOOKS.halted,
        link,
      ),
    )
  const stalled = partitionsWhere(reading, ({ stalledSeconds }) => stalledSeconds > STALLED_AFTER_S)
  if (stalled.length > 0)
    findings.push(
      critical(
        `${service} is stalled on ${partitionsInWords(stalled)}: its attempts keep failing.`,
        RUNBOOKS.lag,
        link,
      ),
    )
  const failing = partitionsWhere(reading, ({ ticksFailingSeconds }) => ticksFailingSeconds > STALLED_AFTER_S)
  if (failing.length > 0)
    findings.push(
      warning(`Ticks of ${service} fail on ${partitionsInWords(failing)}: nothing expires there.`, RUNBOOKS.lag, link),
    )
  const unowned = countUnowned(reading, parts.partitionCount)
  if (unowned > 0) findings.push(warning(unownedInWords(reading, unowned, parts), RUNBOOKS.lag, link))
  const lagSeconds = reading.lagSeconds ?? 0
  if (haltedPartitions.length === 0 && isLate(lagSeconds)) {
    const text = `${service} is ${Math.round(lagSeconds)} s behind the log: ${lagRecords} records wait.`
    findings.push((lagSeconds > VERY_LATE_AFTER_S ? critical : warning)(text, RUNBOOKS.lag, link))
  }
  if (outboxSeconds !== null && outboxSeconds > OUTBOX_LATE_AFTER_S)
    findings.push(
      warning(
        `${service} cannot publish: its oldest record has been waiting for ${Math.round(outboxSeconds)} s.`,
        RUNBOOKS.lag,
        link,
      ),
    )
  return findings
}

/** Reports all consumers together: each reads every record, so an unreadable one is a dead letter of most of them. */
function deadLettersOf(services: readonly ServiceReading[]): readonly Finding[] {
  const counts = services.flatMap(({ service, deadLetters }) => (deadLetters ? [{ service, deadLetters }] : []))
  if (counts.length === 0) return []
  const words = counts.map(({ service, deadLetters }) => `${deadLetters} of ${service}`).join(', ')
  const isOne = counts.length === 1 && counts[0]?.deadLetters === 1
  const text = `There ${isOne ? 'is a dead letter' : 'are dead letters'} (records that a consumer could not read): ${words}.`
  const hint = counts.length > 1 ? ' One bad record can be a dead letter of each consumer.' : ''
  return [warning(text + hint, RUNBOOKS.deadLetters, ...counts.map(({ service }) => operationsLink(service)))]
}

function catalogOf({ service, catalogProblems }: ServiceReading): readonly Finding[] {
  if (catalogProblems === 0) return []
  return [
    warning(`${service} does not fully understand the catalog of ${catalogProblems} organizations.`, RUNBOOKS.upgrade, {
      screen: 'catalog',
    }),
  ]
}

function secretsOf({ service, undecryptableSecrets }: ServiceReading): readonly Finding[] {
  return Array.from(undecryptableSecrets, ([keyId, count]) => {
    const whose = count === 1 ? 'a project' : `${count} projects`
    const cause =
      keyId === 'damaged'
        ? 'They are damaged: apply the workspace file again.'
        : `Some process lacks key ${keyId} in NEXTVISIT_SECRET_KEY.`
    const text = `${service} cannot decrypt the signing secrets of ${whose}, so requests from their pages get 503. ${cause}`
    return critical(text, RUNBOOKS.secretKey)
  })
}

/** Skips services that are reported as silent. */
function breakersOf({ service, openBreakers }: ServiceReading, all: readonly ServiceReading[]): readonly Finding[] {
  const silent = all.filter(({ answering }) => answering === 0).map((one) => one.service)
  const open = openBreakers.filter((breaker) => !silent.some((name) => breaker.startsWith(name)))
  return open.length === 0 ? [] : [warning(`${service} has paused its calls to: ${open.join(', ')}.`)]
}

function answersOf(recent: readonly Sample[]): readonly Finding[] {
  const findings: Finding[] = []
  const answers = [...totalsOf(recent, 'answer')]
  const all = answers.reduce((sum, [, count]) => sum + count, 0)
  const failed = answers.filter(([status]) => status.startsWith('5')).reduce((sum, [, count]) => sum + count, 0)
  if (failed > all * FAILED_SHARE)
    findings.push(
      critical(
        `${failed} of ${all} requests in the last five minutes got a 5xx answer. Callers must retry.`,
        RUNBOOKS.gateway,
        ALL_REFUSALS,
      ),
    )
  const unchecked = totalOf(recent, 'unchecked')
  if (unchecked > 0) {
    const checks = [...totalsOf(recent, 'unchecked').keys()].toSorted().join(', ')
    findings.push(
      warning(
        `${unchecked === 1 ? 'A check was' : `${unchecked} checks were`} skipped in the last five minutes (${checks}), so limits were not enforced.`,
        RUNBOOKS.lag,
      ),
    )
  }
  return findings
}

function partitionsWhere(
  { partitions }: ServiceReading,
  isMeant: (partition: PartitionReading) => boolean,
): readonly number[] {
  return [...partitions].filter(([, reading]) => isMeant(reading)).map(([partition]) => partition)
}

function partitionsInWords(partitions: readonly number[]): string {
  return `${partitions.length === 1 ? 'partition' : 'partitions'} ${partitions.toSorted((one, other) => one - other).join(', ')}`
}
