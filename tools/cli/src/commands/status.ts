import { Command } from 'commander'
import { readEnvironment, requireLog } from '../environment/config.ts'
import { CliError } from '../errors.ts'
import { print, printTable, styled } from '../output/print.ts'
import { problemLine } from '@nextvisit/catalog'
import type { Alarm } from '../status/read-consumer.ts'
import { partsAtFault } from '../status/parts-at-fault.ts'
import { adviceOn, type SecretKeyStatus } from '../status/secret-keys.ts'
import { readStatus, type Status } from '../status/read-status.ts'
import { webhookLine } from '../status/webhook-health.ts'

export function createCommand(): Command {
  return new Command('status')
    .description(
      "Show each consumer's lag, dead letters, outbox, stopped partitions and schemas left from replays, the catalog's revisions, the running services, webhooks that need attention and the keys of NEXTVISIT_SECRET_KEY.",
    )
    .option('--json', 'for scripts')
    .option('--check', 'exit with 1 if a part is unavailable, a consumer has stopped, or a catalog is not current')
    .addHelpText(
      'after',
      `
Exits with 0 even if consumers lag or parts are unavailable, unless --check is given. Reads KAFKA_BROKERS and each service's database
address, such as METERING_DATABASE_URL, or DATABASE_URL for all. For webhooks, it reads WEBHOOK_DISPATCHER_URLS and INTERNAL_TOKEN.

Example:
  nextvisit status --json | jq '.consumers[] | {service, lagRecords}'`,
    )
    .action(status)
}

async function status({ json, check }: { readonly json?: true; readonly check?: true }): Promise<void> {
  const env = readEnvironment()
  requireLog(env)
  const current = await readStatus(env, new Date())
  if (json) print(JSON.stringify(current, null, 2))
  else printStatus(current)
  const atFault = check ? partsAtFault(current) : []
  if (atFault.length > 0) throw new CliError(`Parts need attention: ${atFault.join(', ')}.`)
}

function printStatus(current: Status): void {
  printConsumers(current)
  printWebhooks(current)
  print()
  printLog(current)
  if (current.keyRingFault !== null) print(styled('red', current.keyRingFault))
}

function printConsumers({ consumers }: Status): void {
  printTable(
    ['CONSUMER', 'BEHIND (RECORDS)', 'BEHIND (SECONDS)', 'DEAD LETTERS', 'OUTBOX (RECORDS)', 'OUTBOX (SECONDS)'],
    consumers
      .filter((consumer) => consumer.status === 'available')
      .map(({ service, lagRecords, lagSeconds, deadLetters, outbox }) => [
        service,
        lagRecords ?? '?',
        lagSeconds ?? '?',
        deadLetters,
        outbox.records,
        outbox.seconds,
      ]),
  )
  for (const consumer of consumers) {
    if (consumer.status === 'away') {
      print(styled('red', `${consumer.service} is unavailable: ${consumer.because}`))
      continue
    }
    for (const alarm of consumer.alarms) print(styled('red', alarmLine(consumer.service, alarm)))
    for (const schema of consumer.leftSchemas) print(styled('yellow', leftSchemaLine(consumer.service, schema)))
  }
}

/** Prints nothing while no webhook needs attention. A dispatcher that does not answer is named with the running services. */
function printWebhooks({ webhooks }: Status): void {
  if (webhooks?.status !== 'available') return
  for (const endpoint of webhooks.endpoints) {
    print(styled(endpoint.disabledAt === undefined ? 'yellow' : 'red', webhookLine(endpoint)))
  }
}

function leftSchemaLine(service: string, schema: string): string {
  return (
    `The schema ${schema} is left from a replay of ${service}. No erasure reaches it: complete the replay or drop the ` +
    'schema. See docs/runbooks/replay.md.'
  )
}

/** Describes a stopped partition in one line: its position, start, cause and remedy. */
function alarmLine(service: string, alarm: Alarm): string {
  const { topic, partition, kind, offset, recordId, code, message, since, setAsideBy } = alarm
  const where = `${service} on ${topic}/${partition}`
  const because = `since ${since}: ${code} ${message.replaceAll(/\s+/g, ' ')}.`
  if (kind === 'ticks') return `${where}: ticks fail ${because} See docs/runbooks/lag.md.`
  if (kind === 'stalled') return `${where} is stalled at offset ${offset} ${because} See docs/runbooks/lag.md.`
  const record = recordId === null || code === 'BATCH_UNDECODABLE' ? '' : ` (record ${recordId})`
  const wish = setAsideBy === null ? '' : ` ${setAsideBy} asked to set it aside.`
  return `${where} is halted at offset ${offset}${record} ${because}${wish} See docs/runbooks/halted.md.`
}

function printLog({ log, consumers }: Status): void {
  if (log.status === 'away') return print(styled('red', `The log is unavailable: ${log.because}`))
  for (const line of log.changedTopics) print(styled('red', line))
  printTable(
    ['ORGANIZATION', 'REVISION', 'PROJECTS', 'KEYS'],
    log.organizations.map(({ organization, revision, projects, keys }) => [organization, revision, projects, keys]),
  )
  print()
  printTable(
    ['RUNNING', 'PROCESSES', 'CATALOG'],
    log.services.map(({ service, processes, hasCatalog }) => [service, processes, hasCatalog ? 'current' : 'behind']),
  )
  const running = new Set(log.services.map(({ service }) => service))
  for (const { service } of consumers.filter((consumer) => !running.has(consumer.service)))
    print(styled('red', `No process of ${service} reports: it is stopped or hangs. See docs/runbooks/lag.md.`))
  for (const problem of log.services.flatMap(({ catalogProblems }) => catalogProblems)) {
    print(styled('red', problemLine(problem)))
  }
  printSecretKeys(log.secretKeys)
}

/** Prints nothing while a single key encrypts no secret of the catalog. */
function printSecretKeys(keys: readonly SecretKeyStatus[]): void {
  if (keys.length < 2 && keys.every(({ projects, webhooks }) => projects.length + webhooks.length === 0)) return
  print()
  printTable(
    ['SECRET KEY', 'POSITION', 'SIGNING SECRETS', 'WEBHOOKS', 'DATA KEYS', 'INSTALLATION KEYS', 'USE'],
    keys.map(({ keyId, position, projects, webhooks, dataKeys, installationKeys, use }) => [
      keyId,
      position ?? 'not here',
      projects.length,
      webhooks.length,
      dataKeys ?? '?',
      installationKeys ?? '?',
      use,
    ]),
  )
  for (const advice of keys.flatMap(adviceOn)) print(styled('yellow', advice))
}
