import { setTimeout as sleep } from 'node:timers/promises'
import {
  MAX_REPLAYS_KEPT,
  MAX_UNFINISHED_REPLAYS,
  TOO_MANY_REPLAYS,
  TOO_MANY_REPLAYS_KEPT,
  type WebhookEvent,
  type WebhookReplay,
} from '@nextvisit/contracts'
import { CliError, EXIT } from '../errors.ts'
import { type ProjectName, projectName } from '../find-project.ts'
import { complain, print } from '../output/print.ts'
import { createProgress } from '../output/progress.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { answerAbout, connectDispatcher, type Dispatcher, recordCommand } from './ask-dispatcher.ts'
import { counted, replayInWords } from './list-webhooks.ts'

export interface ReplayFlags {
  readonly project: ProjectName
  /** Ms since the epoch. */
  readonly from: number
  readonly to?: number
  readonly events?: readonly WebhookEvent[]
  readonly wait?: true
  readonly json?: true
}

const ASK_EVERY_MS = 1_000

/** Begins a replay. With `--wait`, shows its progress until it is complete. */
export async function replayWebhook(endpointId: string, flags: ReplayFlags, topic: string): Promise<void> {
  const { from, to, events, wait, json } = flags
  requireRange(from, to)
  const dispatcher = await connectDispatcher(flags.project, topic)
  const range = rangeOf(from, to)
  const details = { ...range, ...(events && { events: events.join(', ') }) }
  const asked = await recordCommand(dispatcher, { kind: 'webhook.replay', target: endpointId, details }, () =>
    dispatcher.any.replay({ ...dispatcher.place, endpointId, ...range, ...(events && { events: [...events] }) }),
  )
  const begun = await answerAbout(dispatcher, endpointId, asked)
  if (begun === TOO_MANY_REPLAYS) {
    throw new CliError(
      `${endpointId} has ${MAX_UNFINISHED_REPLAYS} replays that are not complete: wait until one is. See nextvisit webhooks list --project ${projectName(dispatcher.place)}.`,
    )
  }
  if (begun === TOO_MANY_REPLAYS_KEPT)
    throw new CliError(
      `${endpointId} has had ${MAX_REPLAYS_KEPT} replays in 30 days. One replay can send a longer range.`,
    )
  const { replayId } = begun
  if (!wait) return print(json ? JSON.stringify({ replayId }) : `Replay ${replayId} of ${endpointId} has begun.`)
  if (!json) print(`Replay ${replayId} of ${endpointId} has begun. Ctrl-C ends the waiting, and not the replay.`)
  await untilInterrupted(async (signal) => {
    const ended = await awaitReplay(dispatcher, endpointId, replayId, signal)
    if (!ended) return
    const { replay, countedUpTo } = ended
    print(json ? JSON.stringify(replay) : `Complete: ${replayInWords(replay, countedUpTo)}.`)
    if (replay.failed === 0) return
    const failed = `${counted(replay.failed, countedUpTo)} deliveries have failed`
    throw new CliError(
      `${failed}. Send them again with ${retryLine(endpointId, replay, projectName(dispatcher.place))}.`,
    )
  })
}

/** Throws a {@link CliError} unless the range is one. */
export function requireRange(from: number, to: number | undefined): void {
  if (to !== undefined && to <= from) throw new CliError('--to must be after --from.', EXIT.usage)
}

/** Returns the range of a call. */
export function rangeOf(from: number, to: number | undefined): { readonly from: string; readonly to?: string } {
  return { from: new Date(from).toISOString(), ...(to !== undefined && { to: new Date(to).toISOString() }) }
}

/** Resolves to the replay once it is complete, or to undefined once the signal is aborted. */
async function awaitReplay(
  dispatcher: Dispatcher,
  endpointId: string,
  replayId: string,
  signal: AbortSignal,
): Promise<{ readonly replay: WebhookReplay; readonly countedUpTo: number } | undefined> {
  const progress = createProgress()
  let isWaiting = false
  try {
    while (!signal.aborted) {
      const asked = await dispatcher.any.readEndpoints({ ...dispatcher.place, endpointId }, { signal })
      if (signal.aborted) break
      const { webhooks, countedUpTo } = await answerAbout(dispatcher, endpointId, asked)
      const webhook = webhooks.find(({ id }) => id === endpointId)
      const replay = webhook?.replays.find((one) => one.replayId === replayId)
      if (!replay)
        throw new CliError(
          `Replay ${replayId} is no longer listed: the webhook was removed, or ten replays followed it.`,
        )
      if (replay.status === 'complete') return { replay, countedUpTo }
      if (webhook?.state === 'disabled' && !isWaiting) complain(`${endpointId} is disabled: the replay waits.`)
      isWaiting = webhook?.state === 'disabled'
      progress.pause(replayInWords(replay, countedUpTo))
      await sleep(ASK_EVERY_MS, undefined, { signal }).catch(() => undefined)
    }
    return undefined
  } finally {
    progress.end()
  }
}

function retryLine(endpointId: string, { from, to }: WebhookReplay, project: string): string {
  const range = `--from ${from}${to === undefined ? '' : ` --to ${to}`}`
  return `nextvisit webhooks retry ${endpointId} ${range} --project ${project}`
}
