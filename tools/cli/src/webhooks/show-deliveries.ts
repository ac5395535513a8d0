import {
  type DeliveryStatus,
  MAX_DELIVERIES_ASKED,
  type WebhookAttempt,
  type WebhookDelivery,
  type WebhookDeliveryDetail,
} from '@nextvisit/contracts'
import { checkUserName, userIdOf } from '@nextvisit/domain'
import { CliError, EXIT } from '../errors.ts'
import type { ProjectName } from '../find-project.ts'
import { complain, escapeInvisible, print, printTable, styled } from '../output/print.ts'
import { answerAbout, connectDispatcher, type Dispatcher } from './ask-dispatcher.ts'

export interface DeliveriesFlags {
  readonly project: ProjectName
  readonly status?: DeliveryStatus
  readonly user?: string
  readonly userId?: string
  readonly limit: number
  readonly json?: true
}

/** Prints the latest deliveries of a webhook, or one with its body and attempts. */
export async function showDeliveries(
  endpointId: string,
  deliveryId: string | undefined,
  flags: DeliveriesFlags,
  topic: string,
): Promise<void> {
  const { user, userId } = flags
  if (user !== undefined && userId !== undefined) throw new CliError('Use --user or --user-id, not both.', EXIT.usage)
  const rejection = user === undefined ? undefined : checkUserName(user)
  if (rejection) throw new CliError(`--user: ${rejection.message}.`, EXIT.usage)
  const dispatcher = await connectDispatcher(flags.project, topic)
  if (deliveryId === undefined) return showLatest(dispatcher, endpointId, flags)
  const delivery = await readDelivery(dispatcher, endpointId, deliveryId)
  if (flags.json) return print(JSON.stringify(delivery, null, 2))
  printDetail(delivery)
}

export async function readDelivery(
  dispatcher: Dispatcher,
  endpointId: string,
  deliveryId: string,
): Promise<WebhookDeliveryDetail> {
  const asked = await dispatcher.any.readDelivery({ ...dispatcher.place, endpointId, deliveryId })
  return answerAbout(dispatcher, endpointId, asked, noDelivery(endpointId, deliveryId))
}

export function noDelivery(endpointId: string, deliveryId: string): string {
  return `Webhook ${endpointId} has no delivery ${deliveryId}. Deliveries are kept for 30 days after their end; an erasure deletes those of its user.`
}

async function showLatest(
  dispatcher: Dispatcher,
  endpointId: string,
  { status, user, userId, limit, json }: DeliveriesFlags,
): Promise<void> {
  const { place, any } = dispatcher
  const ofUser = user === undefined ? userId : userIdOf(place.organization, place.project, user)
  const deliveries: WebhookDelivery[] = []
  let next: string | null | undefined
  let isStale = false
  do {
    const asked = await any.readDeliveries({
      ...place,
      endpointId,
      ...(status && { status }),
      ...(ofUser !== undefined && { userId: ofUser }),
      limit: Math.min(limit - deliveries.length, MAX_DELIVERIES_ASKED),
      ...(typeof next === 'string' && { after: next }),
    })
    const page = await answerAbout(dispatcher, endpointId, asked)
    deliveries.push(...page.deliveries)
    next = page.next
    isStale ||= page.stale === true
  } while (next !== null && deliveries.length < limit)
  if (json) return print(JSON.stringify({ deliveries, next, ...(isStale && { stale: true }) }, null, 2))
  if (deliveries.length === 0) print(`Webhook ${endpointId} has no such deliveries.`)
  else printLatest(deliveries)
  if (next !== null) complain(`Shown: the latest ${deliveries.length}. Use --limit to show more.`)
  if (isStale) complain('The dispatcher lags behind the log: the latest deliveries may be missing.')
}

function printLatest(deliveries: readonly WebhookDelivery[]): void {
  printTable(
    ['DELIVERY', 'TIME', 'TYPE', 'USER', 'STATUS', 'ATTEMPTS', 'LAST ATTEMPT', 'NEXT ATTEMPT'],
    deliveries.map(({ deliveryId, timestamp, type, userId, status, attempts, lastAttempt, nextAttemptAt }) => [
      deliveryId,
      timestamp,
      type,
      userId ?? '',
      status,
      attempts,
      lastAttempt ? attemptInWords(lastAttempt) : '',
      nextAttemptAt ?? '',
    ]),
  )
}

/** Describes an attempt: `500 in 34 ms`, or `timeout after 15000 ms`. */
export function attemptInWords({ outcome, httpStatus, durationMs }: WebhookAttempt): string {
  return httpStatus === undefined ? `${outcome} after ${durationMs} ms` : `${httpStatus} in ${durationMs} ms`
}

function printDetail(delivery: WebhookDeliveryDetail): void {
  const { deliveryId, webhookId, type, userId, replayId, status, timestamp, endedAt, nextAttemptAt, body } = delivery
  const members = { deliveryId, webhookId, type, userId, replayId, status, timestamp, endedAt, nextAttemptAt }
  for (const [name, value] of Object.entries(members)) if (value !== undefined) print(`${name}: ${value}`)
  print(body === undefined ? 'body: not captured yet' : `body: ${escapeInvisible(body)}`)
  for (const attempt of delivery.attemptLog) {
    const { at, outcome, error, response } = attempt
    print(`\n${at}  ${styled(outcome === 'delivered' ? 'green' : 'red', attemptInWords(attempt))}`)
    if (error !== undefined) print(`  ${escapeInvisible(error)}`)
    if (response) print(`  response: ${escapeInvisible(response)}`)
  }
}
