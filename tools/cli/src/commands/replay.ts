import type { Consumer } from '@nextvisit/consumer'
import { Command } from 'commander'
import { logConnection, readEnvironment, requireLog } from '../config.ts'
import { CONSUMER_NAMES, consumerNamed } from '../consumer-database.ts'
import { addressesOf } from '../database-addresses.ts'
import { EXIT, exitCodeOf, isOurs } from '../errors.ts'
import { complain } from '../output.ts'
import { errorLineOf, printLine } from '../json-lines.ts'
import { createReplayLines, createReplayText } from '../replay/replay-report.ts'
import { type RunReplayOptions, runReplay } from '../replay/run-replay.ts'

interface ReplayFlags {
  readonly dryRun?: true
  readonly acceptDifferences?: true
  readonly restart?: true
  readonly jsonLines?: true
}

export function replayCommand(): Command {
  return new Command('replay')
    .description("Rebuild a consumer's read models from the log beside the live ones, compare, and swap them.")
    .argument('<service>', CONSUMER_NAMES)
    .option('--dry-run', 'compare, but do not swap')
    .option('--accept-differences', 'swap even if the rebuilt rows differ from the live ones')
    .option('--restart', 'start over after an interrupted replay')
    .option('--json-lines', 'for programs: JSON lines')
    .addHelpText(
      'after',
      `
The live read models stay in use; folds pause briefly before the comparison and before the swap. A replay queues, delivers,
publishes and meters nothing. Data that is not in the log, such as reservations, is carried over. An interrupted replay
resumes when you run it again. Do not run it during an audit, which locks the tables.
LIVE UNMATCHED: live rows without an equal rebuilt row. REBUILT UNMATCHED: the reverse. A changed row counts in both.
Below the table are the keys of some of these rows, with the columns that differ.
Exits with 0 if it swapped or found both equal, 1 if rows differ and were not accepted or the replay failed, 2 if the arguments
are wrong.
Until it prints "Swapping", a failure leaves the live read models unchanged. After that, they are either completely the old ones or
completely the rebuilt ones: run it again. DATABASE_URL is the address of a role that may create schemas, as for migrate.
--json-lines prints one object per line: type begin (records, resumedFrom), progress (share, records, perSecond, secondsLeft), pause, step
(compare, carry, swap), comparison (tables), then outcome (compared, refused, swapped; isEqual, lockedMs) or error (code, message).

Example:
  nextvisit replay metering --dry-run`,
    )
    .action(replay)
}

async function replay(service: string, flags: ReplayFlags): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(EXIT.failed))
  try {
    const consumer = consumerNamed(service)
    const report = flags.jsonLines ? createReplayLines(consumer) : createReplayText(consumer)
    const isFine = await runReplay({ consumer, ...settingsOf(consumer, flags) }, report)
    process.exitCode = isFine ? EXIT.done : EXIT.failed
  } catch (error) {
    if (flags.jsonLines) printLine(errorLineOf(error))
    complain(describeFailure(error))
    process.exitCode = exitCodeOf(error)
  }
}

function settingsOf(consumer: Consumer, flags: ReplayFlags): Omit<RunReplayOptions, 'consumer'> {
  const env = readEnvironment()
  requireLog(env)
  return {
    adminUrl: addressesOf(consumer, env).adminUrl,
    connection: { ...logConnection(env), clientId: `nextvisit-replay-${consumer.name}` },
    request: {
      isDryRun: flags.dryRun === true,
      acceptsDifferences: flags.acceptDifferences === true,
      restart: flags.restart === true,
    },
  }
}

/** Describes a failed replay: the message of our own errors, which name the remedy; the stack of all others. */
function describeFailure(error: unknown): string {
  if (isOurs(error)) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
