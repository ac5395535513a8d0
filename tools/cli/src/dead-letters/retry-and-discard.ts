import type { DeadLetterDecision, DeadLetterSelection } from '@nextvisit/contracts'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { operatingUser } from '../environment/config.ts'
import { consumerNamed } from '../environment/consumer-database.ts'
import { CliError, EXIT } from '../errors.ts'
import { complain, print } from '../output/print.ts'
import { createProgress } from '../output/progress.ts'
import { answerOf, type DeadLetterCalls, withDeadLetters } from './ask-dead-letters.ts'
import { awaitFolded } from './await-folded.ts'

/** A consumer looks for retries every five seconds, and then folds a hundred of a partition a second. */
const STALLED_AFTER_MS = 20_000
const POLL_EVERY_MS = 250
const NOTHING_TO_DISCARD = 'None of the selected letters is dead, so there is nothing to discard.'

interface SelectionFlags {
  readonly service: string
  readonly id?: readonly string[]
  readonly cause?: string
  readonly all?: true
}

/** Makes the consumer retry the selected letters, and waits for the result. */
export async function retryDeadLetters(
  env: EnvironmentVariables,
  flags: SelectionFlags & { readonly wait: boolean },
): Promise<void> {
  const selected = selectionOf(flags)
  const consumer = consumerNamed(flags.service)
  await withDeadLetters(env, consumer, async (calls) => {
    await previewSelected(calls, flags.service, selected)
    const { count, decidedAt } = await decideAll(calls, selected, 'retry')
    if (decidedAt === null) return print('None of the selected letters is dead, so there is nothing to retry.')
    print(`Retrying ${count} dead ${count === 1 ? 'letter' : 'letters'}.`)
    if (!flags.wait) return
    const progress = createProgress()
    const { retried, dead, retry } = await awaitFolded({
      readCounts: () => answerOf(calls.readDecision({ decidedAt })),
      onWaiting: (left) => progress.report((count - left) / count, count - left),
      stalledAfterMs: STALLED_AFTER_MS,
      pollEveryMs: POLL_EVERY_MS,
    }).finally(progress.end)
    print(`${retried} folded.`)
    if (dead > 0) complain(`${dead} dead again; nextvisit dead-letters list shows the causes.`)
    if (retry > 0)
      complain(
        `${retry} dead letters are still pending, with no progress for ${STALLED_AFTER_MS / 1_000} s. Check that ` +
          `${consumer.name} is running (nextvisit status), then run nextvisit dead-letters list --service ${consumer.name}.`,
      )
    if (dead + retry > 0) throw new CliError('Not all were folded.')
  })
}

/** Discards the selected letters; without `yes`, only prints their number. */
export async function discardDeadLetters(
  env: EnvironmentVariables,
  flags: SelectionFlags & { readonly yes?: true },
): Promise<void> {
  const selected = selectionOf(flags)
  await withDeadLetters(env, consumerNamed(flags.service), async (calls) => {
    const { dead } = await previewSelected(calls, flags.service, selected)
    if (!flags.yes) {
      if (dead === 0) return print(NOTHING_TO_DISCARD)
      throw new CliError(`${dead} would be discarded, and never folded. Nothing was done; add --yes.`, EXIT.usage)
    }
    const { count } = await decideAll(calls, selected, 'discard')
    print(count === 0 ? NOTHING_TO_DISCARD : `${count} discarded.`)
  })
}

/** Requires exactly one of `--id`, `--cause` and `--all`, so that a forgotten flag decides nothing. */
function selectionOf({ service, id, cause, all }: SelectionFlags): DeadLetterSelection {
  const given = [id, cause, all].filter((flag) => flag !== undefined)
  if (given.length !== 1) {
    throw new CliError('Specify exactly one of --id (repeatable), --cause or --all.', EXIT.usage)
  }
  if (id) return { by: 'ids', ids: id.map((one) => idOf(one, service)) }
  return cause === undefined ? { by: 'all' } : { by: 'cause', cause }
}

/** A dead letter as `list` names it, `metering/12`, or by its number alone. */
function idOf(text: string, service: string): string {
  const [, named, number] = /^(?:([a-z-]+)\/)?(\d{1,18})$/.exec(text) ?? []
  if (number === undefined || (named !== undefined && named !== service)) {
    throw new CliError(
      `${text} is not a dead letter of ${service}; nextvisit dead-letters list shows their names.`,
      EXIT.usage,
    )
  }
  return number
}

/** Throws for ids that do not exist: a mistyped id must not pass for a dead letter that is settled. */
async function previewSelected(
  calls: DeadLetterCalls,
  service: string,
  selected: DeadLetterSelection,
): Promise<{ readonly dead: number }> {
  const { dead, missingIds } = await answerOf(calls.preview({ selected }))
  if (missingIds.length === 0) return { dead }
  const names = missingIds.map((id) => `${service}/${id}`).join(', ')
  throw new CliError(`There is no dead letter ${names}. Nothing was done; see nextvisit dead-letters list --all.`)
}

/** Makes one decision for any number of dead letters: each call takes a bounded number of them. */
async function decideAll(calls: DeadLetterCalls, selected: DeadLetterSelection, decision: DeadLetterDecision) {
  let [count, decidedAt] = [0, null as string | null]
  for (;;) {
    const decided = await answerOf(calls.decide({ selected, decision, by: operatingUser(), continues: decidedAt }))
    count += decided.count
    decidedAt ??= decided.decidedAt
    if (!decided.isFull) return { count, decidedAt }
  }
}
