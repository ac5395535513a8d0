import { Command } from 'commander'
import { readEnvironment, requireLog } from '../config.ts'
import { print, printTable, styled } from '../output.ts'
import { problemLine } from '../workspace/await-views.ts'
import { readStatus, type Status } from '../status/read-status.ts'

export function statusCommand(): Command {
  return new Command('status')
    .summary('Show running services, lag and dead letters.')
    .description("Show each consumer's lag and dead letters, the catalog's revisions and the running services.")
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Exits with 0 even if consumers lag or parts are unavailable. Reads KAFKA_BROKERS and each service's database
address, such as METERING_DATABASE_URL, or DATABASE_URL for all.

Example:
  nextvisit status --json | jq '.consumers[] | {service, lagRecords}'`,
    )
    .action(status)
}

async function status({ json }: { readonly json?: true }): Promise<void> {
  const env = readEnvironment()
  requireLog(env)
  const current = await readStatus(env, new Date())
  if (json) return print(JSON.stringify(current, null, 2))
  printConsumers(current)
  print()
  printLog(current)
}

function printConsumers({ consumers }: Status): void {
  printTable(
    ['CONSUMER', 'BEHIND (RECORDS)', 'BEHIND (SECONDS)', 'DEAD LETTERS'],
    consumers
      .filter((consumer) => consumer.status === 'available')
      .map(({ service, lagRecords, lagSeconds, deadLetters }) => [
        service,
        lagRecords ?? '?',
        lagSeconds ?? '?',
        deadLetters,
      ]),
  )
  for (const consumer of consumers) {
    if (consumer.status === 'away') print(styled('red', `${consumer.service} is unavailable: ${consumer.because}`))
  }
}

function printLog({ log }: Status): void {
  if (log.status === 'away') return print(styled('red', `The log is unavailable: ${log.because}`))
  printTable(
    ['ORGANIZATION', 'REVISION', 'PROJECTS', 'KEYS'],
    log.organizations.map(({ organization, revision, projects, keys }) => [organization, revision, projects, keys]),
  )
  print()
  printTable(
    ['RUNNING', 'PROCESSES', 'CATALOG'],
    log.services.map(({ service, processes, hasCatalog }) => [service, processes, hasCatalog ? 'current' : 'behind']),
  )
  for (const problem of log.services.flatMap(({ catalogProblems }) => catalogProblems)) {
    print(styled('red', problemLine(problem)))
  }
}
