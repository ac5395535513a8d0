import type { WebhookEndpoint, WebhookReplay } from '@nextvisit/contracts'
import { type ProjectName, projectName } from '../find-project.ts'
import { escapeInvisible, print, printTable, styled } from '../output/print.ts'
import { formatCount } from '../output/progress.ts'
import { answerOf, connectDispatcher } from './ask-dispatcher.ts'

export interface ListFlags {
  readonly project: ProjectName
  readonly json?: true
}

/** Prints the webhooks of a project with their state. */
export async function listWebhooks({ project, json }: ListFlags, topic: string): Promise<void> {
  const { place, any, requireInWorkspace } = await connectDispatcher(project, topic)
  const answer = answerOf(await any.readEndpoints(place)) ?? { webhooks: [], countedUpTo: 0 }
  const { countedUpTo } = answer
  if (answer.webhooks.length === 0) await requireInWorkspace(undefined)
  if (json) return print(JSON.stringify(answer, null, 2))
  const name = projectName(place)
  if (answer.webhooks.length === 0) return print(`Project ${name} has no webhooks.`)
  printTable(
    ['WEBHOOK', 'STATE', 'PENDING', 'FAILED', 'OLDEST PENDING', 'LAST DELIVERED'],
    answer.webhooks.map(({ id, state, pending, failed, oldestPendingAt, lastDeliveredAt }) => [
      id,
      state,
      pending < countedUpTo ? pending : counted(pending, countedUpTo),
      failed < countedUpTo ? failed : counted(failed, countedUpTo),
      oldestPendingAt ?? '',
      lastDeliveredAt ?? '',
    ]),
  )
  for (const webhook of answer.webhooks) printRemarks(webhook, name, countedUpTo)
  if (answer.stale) print(styled('yellow', 'The dispatcher lags behind the log: the latest changes may be missing.'))
}

/** Formats a count that ends at a number: `30`, or `100,000 or more`. */
export function counted(count: number, upTo: number): string {
  return count < upTo ? formatCount(count) : `${formatCount(count)} or more`
}

function printRemarks(
  { id, state, because, disabledAt, failingSince, behind, replays }: WebhookEndpoint,
  name: string,
  countedUpTo: number,
) {
  if (state === 'disabled') {
    const since = disabledAt === undefined ? '' : ` since ${disabledAt}`
    const reason = because === undefined ? '' : ` ${escapeInvisible(because)}`
    const remedy =
      disabledAt === undefined
        ? 'set enabled: true in the workspace file and apply it'
        : `repair its receiver, then run nextvisit webhooks enable ${id} --project ${name}`
    print(styled('yellow', `${id} is disabled${since}.${reason} Nothing is lost: ${remedy}.`))
  } else if (failingSince !== undefined) {
    print(
      styled(
        'yellow',
        `${id} has failed since ${failingSince}: see nextvisit webhooks deliveries ${id} --project ${name}.`,
      ),
    )
  }
  if (state === 'catching-up') print(`${id} has ${formatCount(behind)} records of the log to read.`)
  for (const replay of replays.filter(({ status }) => status === 'running'))
    print(`${id}: ${replayInWords(replay, countedUpTo)}.`)
}

/** Describes a replay: `replay 6f…: 62 % of the log read, 1,200 deliveries, 30 pending, 0 failed`. */
export function replayInWords(
  { replayId, progress, deliveries, pending, failed }: WebhookReplay,
  countedUpTo: number,
): string {
  const share = `${Math.floor(progress * 100)} % of the log read`
  const made = `${counted(deliveries, countedUpTo)} ${deliveries === 1 ? 'delivery' : 'deliveries'}`
  const rest = `${counted(pending, countedUpTo)} pending, ${counted(failed, countedUpTo)} failed`
  return `replay ${replayId}: ${share}, ${made}, ${rest}`
}
