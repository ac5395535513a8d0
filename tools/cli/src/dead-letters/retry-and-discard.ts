import type { DeadLetterDecision, DeadLetterSelection } from '@nextvisit/contracts'
import type { ChangeEnd } from '@nextvisit/operator-changes'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { recordChange } from '../changes/record-change.ts'
import { operatingUser } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { complain, print, printTable } from '../output/print.ts'
import { createProgress } from '../output/progress.ts'
import type { PartAnswer } from '../status/ask-part.ts'
import { answerOf, type DeadLetterCalls } from './ask-dead-letters.ts'
import { awaitFolded } from './await-folded.ts'
import {
  type AnswerOfConsumer,
  askEach,
  recordName,
  type SelectedLetters,
  type SelectionFlags,
  selectLetters,
} from './select-letters.ts'

/** A consumer looks for retries every five seconds, and then folds a hundred of a partition a second. */
const STALLED_AFTER_MS = 20_000
const POLL_EVERY_MS = 250
/** The most that a consumer returns. */
const MAX_CAUSES = 10_000
const NOTHING_TO = (what: DeadLetterDecision) => `None of the selected letters is dead, so there is nothing to ${what}.`

type Answers<Answer> = readonly AnswerOfConsumer<SelectedLetters, Answer>[]

/** Makes each consumer retry the selected letters, and waits for the results. */
export async function retryDeadLetters(
  env: EnvironmentVariables,
  flags: SelectionFlags & { readonly wait: boolean },
): Promise<void> {
  const previewed = await previewSelected(env, selectLetters(env, flags))
  const decided = await decideInEach(env, previewed, 'retry')
  const able = answering(decided)
  const count = able.reduce((sum, { answer }) => sum + answer.count, 0)
  if (count > 0) print(`Retrying ${count} dead ${count === 1 ? 'letter' : 'letters'}.`)
  else if (able.length > 0) print(NOTHING_TO('retry'))
  const isComplete = !flags.wait || count === 0 || (await awaitRetries(env, able, count))
  requireAllDecided(previewed, decided)
  if (!isComplete) throw new CliError('Not all were folded.')
}

/** Waits for the retries, and prints their results. Returns whether all were folded. */
async function awaitRetries(
  env: EnvironmentVariables,
  decided: readonly { readonly of: SelectedLetters; readonly answer: Decided }[],
  count: number,
): Promise<boolean> {
  const progress = createProgress()
  const done = new Map<string, number>()
  const report = (consumer: string, folded: number): void => {
    done.set(consumer, folded)
    const sum = [...done.values()].reduce((before, one) => before + one, 0)
    progress.report(sum / count, sum)
  }
  const retrying = decided.map(({ of, answer }) => ({ ...of, ...answer }))
  const results = await askEach(env, retrying, async (calls, { consumer, count: own, decidedAt }) => {
    if (decidedAt === null) return { retried: 0, dead: 0, retry: 0 }
    return awaitFolded({
      readCounts: () => answerOf(calls.readDecision({ decidedAt })),
      onWaiting: (left) => report(consumer.name, own - left),
      stalledAfterMs: STALLED_AFTER_MS,
      pollEveryMs: POLL_EVERY_MS,
    })
  }).finally(progress.end)
  const rows = answering(results).map(({ of, answer }) => ({ service: of.consumer.name, count: of.count, ...answer }))
  if (results.length === 1) for (const { retried } of rows) print(`${retried} folded.`)
  else
    printTable(
      ['CONSUMER', 'RETRIED', 'FOLDED', 'DEAD AGAIN', 'PENDING'],
      rows.map((row) => [row.service, row.count, row.retried, row.dead, row.retry]),
    )
  const deadAgain = rows.reduce((sum, { dead }) => sum + dead, 0)
  if (deadAgain > 0) complain(`${deadAgain} dead again; nextvisit dead-letters list shows the causes.`)
  for (const { service, retry } of rows.filter((row) => row.retry > 0))
    complain(
      `${retry} dead letters are still pending, with no progress for ${STALLED_AFTER_MS / 1_000} s. Check that ` +
        `${service} is running (nextvisit status), then run nextvisit dead-letters list --service ${service}.`,
    )
  for (const { service, because } of silent(results))
    complain(
      `${service}: ${because}. Its result is unknown: nextvisit dead-letters list --service ${service} shows it.`,
    )
  return rows.length === results.length && rows.every(({ dead, retry }) => dead + retry === 0)
}

/** Discards the selected letters in each consumer; without `yes`, only prints their number. */
export async function discardDeadLetters(
  env: EnvironmentVariables,
  flags: SelectionFlags & { readonly yes?: true },
): Promise<void> {
  const previewed = await previewSelected(env, selectLetters(env, flags))
  const able = answering(previewed)
  const dead = able.reduce((sum, { answer }) => sum + answer.dead, 0)
  if (!flags.yes && dead > 0) {
    if (previewed.length > 1)
      printTable(
        ['CONSUMER', 'DEAD'],
        able.map(({ of, answer }) => [of.consumer.name, answer.dead]),
      )
    throw new CliError(`${dead} would be discarded, and never folded. Nothing was done; add --yes.`, EXIT.usage)
  }
  const decided = await decideInEach(env, previewed, 'discard')
  const rows = answering(decided).map(({ of, answer }) => [of.consumer.name, answer.count] as const)
  const count = rows.reduce((sum, [, own]) => sum + own, 0)
  if (count > 0 && decided.length > 1) printTable(['CONSUMER', 'DISCARDED'], rows)
  if (rows.length > 0) print(count === 0 ? NOTHING_TO('discard') : `${count} discarded.`)
  requireAllDecided(previewed, decided)
}

/** Counts the selected in each consumer. Throws for ids and records that do not exist: a mistyped one must not pass for settled. */
async function previewSelected(env: EnvironmentVariables, all: readonly SelectedLetters[]) {
  const previewed = await askEach(env, all, (calls, { selected }) => answerOf(calls.preview({ selected })))
  const able = answering(previewed)
  const missing = able.flatMap(({ of, answer }) => answer.missingIds.map((id) => `${of.consumer.name}/${id}`))
  // A consumer that could read the record has no letter of it, and a silent one may have one.
  const records =
    able.length < all.length ? [] : missingEverywhere(able.map(({ answer }) => answer.missingRecords.map(recordName)))
  if (missing.length + records.length === 0) return previewed
  throw new CliError(
    missing.length > 0
      ? `There is no dead letter ${missing.join(', ')}. Nothing was done; see nextvisit dead-letters list --all.`
      : `There is no dead letter of the record ${records.join(', ')}. Nothing was done; see nextvisit dead-letters list --records.`,
  )
}

function missingEverywhere([first = [], ...others]: readonly (readonly string[])[]): readonly string[] {
  return first.filter((record) => others.every((missing) => missing.includes(record)))
}

type Decided = Awaited<ReturnType<typeof decideAll>>

/** Decides in each consumer that has answered the preview. */
async function decideInEach(
  env: EnvironmentVariables,
  previewed: Answers<object>,
  decision: DeadLetterDecision,
): Promise<Answers<Decided>> {
  const able = answering(previewed).map(({ of }) => of)
  if (able.length === 0) return []
  const causeIds = await readCauseIds(env, able)
  const wanted = able.map(({ consumer, selected }) => ({
    kind: `dead-letters.${decision}` as const,
    target: consumer.name,
    details: { letters: selectionInWords(selected, causeIds.get(consumer.name)) },
  }))
  const decide = () => askEach(env, able, (calls, { selected }) => decideAll(calls, selected, decision))
  return recordChange(env, wanted, decide, (decided, nth) => endOf(decided[nth]?.answer))
}

function endOf(answer: PartAnswer<Decided> | undefined): ChangeEnd {
  return answer?.status === 'available'
    ? { outcome: 'made', details: { count: answer.count } }
    : { outcome: 'failed', reason: 'UNAVAILABLE' }
}

/** Returns the id of the selected cause by consumer. */
async function readCauseIds(
  env: EnvironmentVariables,
  all: readonly SelectedLetters[],
): Promise<ReadonlyMap<string, string>> {
  const ofCause = all.flatMap(({ consumer, selected }) =>
    selected.by === 'cause' ? [{ consumer, selected, cause: selected.cause }] : [],
  )
  if (ofCause.length === 0) return new Map()
  const found = await askEach(env, ofCause, async (calls, { cause: wanted }) => {
    const { groups } = await answerOf(calls.readCauses({ limit: MAX_CAUSES }))
    return { causeId: groups.find(({ cause }) => cause === wanted)?.causeId }
  })
  return new Map(
    answering(found).flatMap(({ of, answer: { causeId } }) =>
      causeId === undefined ? [] : [[of.consumer.name, causeId]],
    ),
  )
}

/** Never has the text of a cause, which may quote personal data: changes stay after an erasure. */
function selectionInWords(selected: DeadLetterSelection, causeId = 'that no dead letter has'): string {
  switch (selected.by) {
    case 'ids':
      return selected.ids.join(', ')
    case 'records':
      return `of ${selected.records.map(recordName).join(', ')}`
    case 'cause':
      return `of cause ${causeId}`
    case 'causeId':
      return `of cause ${selected.causeId}`
    case 'all':
      return 'all'
  }
}

function answering<Of extends SelectedLetters, Answer>(all: readonly AnswerOfConsumer<Of, Answer>[]) {
  return all.flatMap(({ of, answer }) => (answer.status === 'available' ? [{ of, answer }] : []))
}

function silent(all: Answers<unknown>) {
  return all.flatMap(({ of, answer }) =>
    answer.status === 'away' ? [{ service: of.consumer.name, because: answer.because }] : [],
  )
}

/** Reports consumers that have not decided, and throws if there are any. */
function requireAllDecided(previewed: Answers<object>, decided: Answers<Decided>): void {
  const missing = [...silent(previewed), ...silent(decided)]
  for (const { service, because } of missing) complain(`${service}: ${because}. It has not decided.`)
  if (missing.length === 0) return
  throw new CliError(
    'Some consumers have not decided. Run the command again when they answer: the others keep their decision.',
  )
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
