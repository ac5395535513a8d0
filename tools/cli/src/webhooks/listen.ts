import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type HeardDelivery,
  type ListenAnswer,
  MAX_LISTENERS,
  TOO_MANY_LISTENERS,
  type WebhookEvent,
} from '@nextvisit/contracts'
import { createWebhookSecret } from '@nextvisit/domain'
import { CliError } from '../errors.ts'
import { type ProjectName, projectName } from '../find-project.ts'
import { complain, escapeInvisible, print, styled } from '../output/print.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'
import { answerOf, connectDispatcher, type DispatcherClient } from './ask-dispatcher.ts'
import { faultOfDelivery } from './verify-delivery.ts'

export interface ListenFlags {
  readonly project: ProjectName
  readonly events?: readonly WebhookEvent[]
  readonly json?: true
}

type Asked = Awaited<ReturnType<DispatcherClient['listen']>>

const TRY_AGAIN_AFTER_MS = 1_000
/** Pause between two looks for processes that have appeared. */
const LOOK_AGAIN_AFTER_MS = 2_000

/** Prints the deliveries of a project until Ctrl-C, and verifies each. They go to no endpoint, and change nothing. */
export async function listen({ project, events, json }: ListenFlags, topic: string): Promise<void> {
  const { place, each, requireInWorkspace } = await connectDispatcher(project, topic)
  await requireInWorkspace(undefined)
  const secret = createWebhookSecret(randomBytes(32))
  const question = { ...place, listenerId: randomUUID(), secret, ...(events && { events: [...events] }) }
  const ear = createEar(secret, json === true)
  await untilInterrupted(async (signal) => {
    let processes = await each()
    const firsts = await Promise.all(Array.from(processes.values(), (client) => client.listen(question, { signal })))
    if (signal.aborted) return
    // Other errors are reported for each process, and tried again.
    if (firsts.every((asked) => heardIn(asked) === undefined)) for (const asked of firsts) requireRoom(answerOf(asked))
    const what = events ? events.join(', ') : 'all events'
    complain(`Listening to ${what} of ${projectName(place)}. Ctrl-C ends. Signed with the secret ${secret}`)
    const failed = new AbortController()
    const over = AbortSignal.any([signal, failed.signal])
    const hearings = new Map<string, Promise<unknown>>()
    const begin = ([url, client]: [string, DispatcherClient], first?: Asked): void => {
      if (hearings.has(url)) return
      const ask = () => client.listen(question, { signal: over })
      const hearing = hear({ url, ask, first, ear, signal: over, exists: () => processes.has(url) })
        .catch((error: unknown) => failed.abort(error))
        .finally(() => hearings.delete(url))
      hearings.set(url, hearing)
    }
    for (const [nth, one] of [...processes].entries()) begin(one, firsts[nth])
    while (!over.aborted) {
      await sleep(LOOK_AGAIN_AFTER_MS, undefined, { signal: over }).catch(() => undefined)
      processes = await each()
      for (const one of processes) begin(one)
    }
    await Promise.all(hearings.values())
    failed.signal.throwIfAborted()
  })
  if (ear.faults() > 0) throw new CliError(`${ear.faults()} of these deliveries were not signed as they should be.`)
}

interface Hearing {
  readonly url: string
  readonly ask: () => Promise<Asked>
  /** The first answer, if the process was asked already. */
  readonly first: Asked | undefined
  readonly ear: Ear
  readonly signal: AbortSignal
  /** Returns true while the address is one of the dispatcher's. */
  readonly exists: () => boolean
}

/** Asks one process until the signal is aborted, or until its address has vanished. Reports an outage once, and goes on. */
async function hear({ url, ask, first, ear, signal, exists }: Hearing): Promise<void> {
  let isAway = false
  for (let asked = first ?? (await ask()); ; asked = await ask()) {
    const heard = heardIn(asked)
    if (heard) ear.take(heard)
    if (signal.aborted || !exists()) return
    const wasAway = isAway
    isAway = heard === undefined
    if (!isAway) continue
    const problem = asked.outcome === 'answered' ? `has ${MAX_LISTENERS} listeners already` : 'does not answer'
    if (!wasAway) complain(`The webhook dispatcher at ${url} ${problem}: deliveries may be missing. Retrying.`)
    await sleep(TRY_AGAIN_AFTER_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
  }
}

/** Returns what a process has said; undefined: it does not let this command listen. */
function heardIn(asked: Asked): ListenAnswer | undefined {
  return asked.outcome === 'answered' && asked.answer !== TOO_MANY_LISTENERS ? asked.answer : undefined
}

function requireRoom(answer: ListenAnswer | typeof TOO_MANY_LISTENERS | undefined): void {
  if (answer !== TOO_MANY_LISTENERS) return
  throw new CliError(
    `The webhook dispatcher has ${MAX_LISTENERS} listeners already. End one, and try again: it is forgotten after 30 s.`,
  )
}

interface Ear {
  readonly take: (heard: ListenAnswer) => void
  /** Returns the number of deliveries that were not valid. */
  readonly faults: () => number
}

function createEar(secret: string, isJson: boolean): Ear {
  let faults = 0
  return {
    faults: () => faults,
    take: ({ deliveries, missed }) => {
      for (const delivery of deliveries) {
        const fault = faultOfDelivery(delivery, secret, Date.now())
        if (fault !== undefined) faults += 1
        if (isJson) print(JSON.stringify({ isValid: fault === undefined, ...delivery }))
        else printDelivery(delivery, fault)
      }
      if (missed > 0) complain(`${missed} deliveries came too fast, and are not shown.`)
    },
  }
}

function printDelivery({ headers, body }: HeardDelivery, fault: string | undefined): void {
  const payload = JSON.parse(body) as { type: string; timestamp: string; data: { userId?: string } }
  const user = payload.data.userId === undefined ? '' : `  user ${payload.data.userId}`
  const verdict = fault === undefined ? styled('green', 'signature valid') : styled('red', `not valid: ${fault}`)
  print(`${payload.timestamp}  ${styled('bold', payload.type)}${user}  ${verdict}  webhook-id ${headers['webhook-id']}`)
  print(`  ${escapeInvisible(body)}`)
}
