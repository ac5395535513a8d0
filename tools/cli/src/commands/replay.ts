import { Command } from 'commander'
import { logConnection, readEnvironment, requireLog } from '../config.ts'
import { CONSUMER_NAMES, consumerNamed } from '../consumer-database.ts'
import { addressesOf } from '../database-addresses.ts'
import { EXIT } from '../errors.ts'
import { complain } from '../output.ts'
import { describeFailure, runReplay } from '../replay/run-replay.ts'

export interface ReplayFlags {
  readonly dryRun?: true
  readonly acceptDifferences?: true
  readonly restart?: true
}

export function replayCommand(): Command {
  return new Command('replay')
    .summary("Rebuild a consumer's read models from the log.")
    .description("Rebuild a consumer's read models from the log beside the live ones, compare, and swap them.")
    .argument('<service>', CONSUMER_NAMES)
    .option('--dry-run', 'compare and swap nothing')
    .option('--accept-differences', 'swap also where the rebuilt rows differ from the live ones')
    .option('--restart', 'begin anew where a replay was interrupted')
    .addHelpText(
      'after',
      `
The live read models go on serving; folds wait for a moment at the comparison and at the swap. Nothing is queued,
delivered, published or metered by it. What is not in the log, such as reservations, is carried over. An interrupted replay
goes on where it was when it is run again. Not while an audit runs, which keeps the tables in use.
LIVE UNMATCHED: live rows without an equal one among the rebuilt; REBUILT UNMATCHED: the other way round. So a row that differs
counts in both. Below are keys of some, with the columns that differ.
Ends with 0 if it swapped, or found both equal; with 1 where rows differ and were not accepted, or where it failed; with 2 if it was called
wrongly. Until
it says "Swapping" a failure leaves the live read models as they were; after that, they are either those or the rebuilt ones,
whole: run it again. DATABASE_URL is the address of a role that may make schemas, as for migrate.

Example:
  nextvisit replay metering --dry-run`,
    )
    .action(replay)
}

async function replay(service: string, flags: ReplayFlags): Promise<void> {
  const env = readEnvironment()
  const consumer = consumerNamed(service)
  requireLog(env)
  const { adminUrl } = addressesOf(consumer, env)
  const connection = { ...logConnection(env), clientId: `nextvisit-replay-${service}` }
  const request = {
    isDryRun: flags.dryRun === true,
    acceptsDifferences: flags.acceptDifferences === true,
    restart: flags.restart === true,
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(EXIT.failed))
  try {
    const isFine = await runReplay({ consumer, request, adminUrl, connection })
    process.exitCode = isFine ? EXIT.done : EXIT.failed
  } catch (error) {
    complain(`\n${describeFailure(error)}`)
    process.exitCode = EXIT.failed
  }
}
