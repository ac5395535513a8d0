import { type CatalogView, lookupsOf, readCatalog } from '@nextvisit/catalog'
import type { Consumer } from '@nextvisit/consumer'
import { TOPICS } from '@nextvisit/contracts'
import type { LogConnection } from '@nextvisit/log'
import { requiredKeyRingConfig } from '@nextvisit/service-kit'
import { Command } from 'commander'
import { recordChange } from '../changes/record-change.ts'
import { logConnection, readEnvironment, readSettings } from '../environment/config.ts'
import { CONSUMER_NAMES, consumerNamed } from '../environment/consumer-database.ts'
import { addressesOf } from '../environment/database-addresses.ts'
import { EXIT } from '../errors.ts'
import { endedByLine } from '../output/json-lines.ts'
import { isEqual } from '../replay/compare-tables.ts'
import { replayConsumer } from '../replay/replay-consumer.ts'
import { createReplayLines, createReplayText, type ReplayReport } from '../replay/replay-report.ts'
import type { ReplayOutcome } from '../replay/replay.ts'
import { UnavailableError, unavailablePart } from '../replay/unavailable-error.ts'

interface ReplayFlags {
  readonly dryRun?: true
  readonly acceptDifferences?: true
  readonly restart?: true
  readonly jsonLines?: true
}

export function createCommand(): Command {
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
Offsets that "cannot be rebuilt" are in a batch that cannot be decoded: see docs/runbooks/halted.md.
Exits with 0 if it swapped or found both equal, 1 if rows differ and were not accepted or the replay failed, 2 if the arguments
are invalid.
Until it prints "Swapping", a failure leaves the live read models unchanged. After that, they are either completely the old ones or
completely the rebuilt ones: run it again. DATABASE_URL is the address of a role that may create schemas, as for migrate.
Of user-projector, form-trigger-evaluator and answer-collector, it opens sealed records with NEXTVISIT_SECRET_KEY.
--json-lines prints one object per line: type begin (records, resumedFrom), progress (share, records, perSecond, secondsLeft), pause, lost
(topic, partition, firstOffset, lastOffset), step (compare, carry, swap), comparison (tables), then outcome (compared, refused, swapped;
isEqual, lockedMs) or error (code, message).

Example:
  nextvisit replay metering --dry-run`,
    )
    .action(replay)
}

async function replay(service: string, flags: ReplayFlags): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(EXIT.failed))
  await endedByLine(flags.jsonLines === true, async () => {
    const consumer = consumerNamed(service)
    const report = flags.jsonLines ? createReplayLines(consumer) : createReplayText(consumer)
    try {
      const { outcome, comparisons } = await replayWith(consumer, flags, report)
      process.exitCode = outcome === 'swapped' || isEqual(comparisons) ? EXIT.done : EXIT.failed
    } catch (error) {
      const part = unavailablePart(error)
      throw part && error instanceof Error ? new UnavailableError(part, error) : error
    } finally {
      report.end()
    }
  })
}

async function replayWith(consumer: Consumer, flags: ReplayFlags, report: ReplayReport): Promise<ReplayOutcome> {
  const env = readEnvironment()
  const connection = { ...logConnection(env), clientId: `nextvisit-replay-${consumer.name}` }
  const request = {
    isDryRun: flags.dryRun === true,
    acceptsDifferences: flags.acceptDifferences === true,
    restart: flags.restart === true,
  }
  const { keyRing } = consumer.opensRecords ? readSettings(requiredKeyRingConfig, env) : {}
  const { adminUrl } = addressesOf(consumer, env)
  const catalog = await readCatalogAsItIs(connection)
  const outcome = await recordChange(
    env,
    { kind: 'consumer.replay', target: consumer.name, details: request },
    () => replayConsumer(consumer, request, { adminUrl, connection, catalog, keyRing, ...report }),
    ({ outcome: end }) =>
      end === 'refused' ? { outcome: 'refused', reason: 'ROWS_DIFFER' } : { outcome: 'made', details: { end } },
  )
  report.onOutcome(outcome)
  return outcome
}

/** Reads the catalog that a rebuild uses: the one at its start. */
async function readCatalogAsItIs(connection: LogConnection): Promise<CatalogView> {
  const { state } = await readCatalog(connection, TOPICS.catalog)
  return { ...lookupsOf(state), onChange: () => {}, currentAsOfMs: () => Number.POSITIVE_INFINITY }
}
