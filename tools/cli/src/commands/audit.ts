import { audit, AuditError, type AuditReport, type ReadModel } from '@nextvisit/audit'
import { SECRET_KEY_VARIABLE } from '@nextvisit/sealing'
import { consumers } from '@nextvisit/services'
import { Command } from 'commander'
import { logConnection, readEnvironment } from '../environment/config.ts'
import { consumerUrl } from '../environment/consumer-database.ts'
import { knownKeyRing } from '../environment/key-ring.ts'
import { CliError, EXIT } from '../errors.ts'
import { parseCount } from '../options.ts'
import { print, styled } from '../output/print.ts'
import { createProgress } from '../output/progress.ts'

interface AuditFlags {
  readonly json?: true
  readonly atRest?: true
  readonly usersAPass?: number
}

export function createCommand(): Command {
  return new Command('audit')
    .description('Recompute the read models from the log, and report every difference.')
    .option('--json', 'for scripts')
    .option('--at-rest', 'report lag as a difference, because nothing is being written')
    .option('--users-a-pass <count>', 'users in memory at once; more users need more passes', parseCount)
    .addHelpText(
      'after',
      `
The audit is read-only. It may run at any time except during a replay, because it would block the swap. It reads each consumer's
rows in one snapshot and compares them with the log up to the checkpoints of that snapshot. Later records are reported as lag.
It needs the whole log: topics that begin at offset 0. Its transactions stay open until it ends, which delays vacuum.
For every record that triggers a form, it repeats the decision: queued, or refused by a gate, with the values that each gate compared.
For every visit, it determines the forms that may have been shown. If the log is not sufficient (the form changed meanwhile, another form may
have been on offer, or the catalog's revision was compacted), the audit counts the case as undecided, not as a difference.
A pass keeps 250,000 users and their records in memory; a smaller number needs less memory and more passes. Users are identified
by id, never by a name or a trait value.

Opens the records of users that exist, with code of its own. Records of erased users do not count, and rows of them are differences.
Values that erased users have answered cannot be read again: of those, only the numbers of answers are compared.

Exits with 0 if all rows are equal, 1 if there are differences, 2 if it could not compare. Reads KAFKA_BROKERS, NEXTVISIT_SECRET_KEY and each
service's database address, such as METERING_DATABASE_URL, or DATABASE_URL for all.

Example:
  nextvisit audit --json | jq '.findings[] | {kind, count}'`,
    )
    .action(runAudit)
}

async function runAudit({ json, atRest, usersAPass }: AuditFlags): Promise<void> {
  const env = readEnvironment()
  const connection = logConnection(env)
  const progress = createProgress()
  const readModels = consumers.map((consumer): ReadModel => {
    const { name: service, schema } = consumer
    return { service, schema, url: consumerUrl(env, consumer) }
  })
  knownKeyRing(env)
  const secretKey = env[SECRET_KEY_VARIABLE]
  const options = { connection, readModels, secretKey, isAtRest: atRest === true }
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

/** Describes a failed audit without the database's address, which contains its password. */
function reasonOf(error: Error): string {
  if (error instanceof AuditError) return error.message
  const code = 'code' in error ? ` (${String(error.code)})` : ''
  return `The audit could not read the log and every read model${code}: ${error.message}. nextvisit status names the unavailable parts.`
}

function printReport({ records, passes, lag, queueing, compacted, findings }: AuditReport): void {
  for (const { kind, count, examples } of findings) {
    print(`${styled('red', kind)}  ${count}`)
    for (const { about, says } of examples) print(`  ${about}  ${says}`)
    if (count > examples.length) print(`  … and ${count - examples.length} more`)
  }
  const behind = lag.filter((consumer) => consumer.records > 0)
  for (const { service, records: unread } of behind)
    print(`${service} lags by ${unread} records; these were not compared.`)
  for (const { organization, unknown, latest } of compacted)
    print(
      `The catalog was compacted: ${unknown} of ${latest} revisions of ${organization} are gone. Rows that depend on them were not compared.`,
    )
  const { decided, undecided } = queueing
  if (undecided > 0)
    print(`Form decisions: ${decided} checked, ${undecided} undecided because the log is not sufficient.`)
  const counted = `${records} ${records === 1 ? 'record' : 'records'} checked${passes > 1 ? ` in ${passes} passes` : ''}`
  const total = findings.reduce((sum, { count }) => sum + count, 0)
  const differences = total === 1 ? '1 difference' : `${total} differences`
  print(`${counted}: ${total === 0 ? styled('green', 'no difference') : styled('red', differences)}.`)
}
