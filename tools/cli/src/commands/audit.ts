import { audit, AuditError, type AuditReport, type ReadModel } from '@nextvisit/audit'
import { consumers } from '@nextvisit/services'
import { Command, InvalidArgumentError } from 'commander'
import { logConnection, readEnvironment } from '../config.ts'
import { consumerUrl } from '../consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { print, styled } from '../output.ts'
import { createProgress } from '../progress.ts'

interface Options {
  readonly json?: true
  readonly atRest?: true
  readonly usersAPass?: number
}

export function auditCommand(): Command {
  return new Command('audit')
    .summary('Find what differs from the log, changing nothing.')
    .description('Count everything again from the log, and report what the read models say otherwise.')
    .option('--json', 'for scripts')
    .option('--at-rest', 'nothing is written now: what a consumer has not read yet is a difference, too')
    .option('--users-a-pass <count>', 'held in memory at once; more are counted in further passes', parseCount)
    .addHelpText(
      'after',
      `
Writes nothing, may run at any time but during a replay, which it would keep from swapping: each consumer's rows are
taken as of one moment and compared with the log up to that moment's checkpoints. What is behind them is told as lag.
It needs the whole log: topics that begin at offset 0. Its transactions stay open until it ends, which holds vacuum up.
Each time that a record sets a form off is decided again from the log: queued, or refused by a gate. Where the log does not
tell (the form changed while records flowed, another may have been on offer), it is counted as undecided, no difference.
A pass holds 250,000 users and what is recorded of them: fewer take less memory and more passes. Users are named by
their ids; no name and no trait's value is shown.

Ends with 0 where all is equal, 1 with differences, 2 where it could not compare. Asks KAFKA_BROKERS and each service's
database address, such as METERING_DATABASE_URL, or DATABASE_URL for all.

Example:
  nextvisit audit --json | jq '.findings[] | {kind, count}'`,
    )
    .action(runAudit)
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 1 on.')
}

async function runAudit({ json, atRest, usersAPass }: Options): Promise<void> {
  const env = readEnvironment()
  const connection = logConnection(env)
  const progress = createProgress()
  const readModels = consumers.map((consumer): ReadModel => {
    const { name: service, schema } = consumer
    return { service, schema, url: consumerUrl(env, consumer) }
  })
  const options = { connection, readModels, isAtRest: atRest === true }
  const report = await audit({
    ...options,
    ...(usersAPass !== undefined && { usersAPass }),
    onProgress: ({ records, ofRecords }) => progress.report(ofRecords === 0 ? 1 : records / ofRecords, records),
  })
    .catch((error: Error) => {
      throw new CliError(reasonOf(error), EXIT.usage, { cause: error })
    })
    .finally(progress.end)
  if (json) print(JSON.stringify(report, null, 2))
  else printReport(report)
  if (report.findings.length > 0) process.exitCode = EXIT.failed
}

/** Without a database's address, which holds its password. */
function reasonOf(error: Error): string {
  if (error instanceof AuditError) return error.message
  const code = 'code' in error ? ` (${String(error.code)})` : ''
  return `The audit could not read the log and every read model${code}: ${error.message}. nextvisit status tells what is away.`
}

function printReport({ records, passes, lag, queueing, findings }: AuditReport): void {
  for (const { kind, count, examples } of findings) {
    print(`${styled('red', kind)}  ${count}`)
    for (const { about, says } of examples) print(`  ${about}  ${says}`)
    if (count > examples.length) print(`  … and ${count - examples.length} more`)
  }
  const behind = lag.filter((consumer) => consumer.records > 0)
  for (const { service, records: unread } of behind)
    print(`${service} is ${unread} records behind; these were left out.`)
  const { decided, undecided } = queueing
  if (undecided > 0)
    print(`Whether a form was to be queued: ${decided} times decided, ${undecided} times the log does not tell enough.`)
  const counted = `${records} records counted again${passes > 1 ? ` in ${passes} passes` : ''}`
  const total = findings.reduce((sum, { count }) => sum + count, 0)
  print(`${counted}: ${total === 0 ? styled('green', 'no difference') : styled('red', `${total} differences`)}.`)
}
