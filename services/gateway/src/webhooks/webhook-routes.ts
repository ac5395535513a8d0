import {
  DeliveryPosition,
  DeliveryStatus,
  DISABLED_IN_FILE,
  DONE,
  type OperatorChangeDetails,
  type OperatorChangeKind,
  ROUTES,
  SlugId,
  TEST_IS_SENT_ONCE,
  TOO_MANY_REPLAYS,
  TOO_MANY_REPLAYS_KEPT,
  TOO_MANY_TESTS,
  TOO_MANY_TESTS_A_DAY,
  Uuid,
  type webhookDispatcherCalls,
} from '@nextvisit/contracts'
import { parseReplayBody, parseRetryBody } from '@nextvisit/domain'
import { endOfCall } from '@nextvisit/operator-changes'
import type { CallClient, CallOutcome } from '@nextvisit/service-kit'
import type { RecordChange } from '../changes/record-change.ts'
import { answer, type CheckedRequest, type Result, type Route } from '../http/route.ts'
import { parsePage } from '../reads/page-query.ts'
import { REFUSALS, type Refusal, refuse, refuseBody } from '../refusals/refusals.ts'

interface WebhookRoutesParts {
  readonly webhookDispatcher: CallClient<typeof webhookDispatcherCalls>
  readonly recordChange: RecordChange
}

/** Creates the routes that read endpoints of webhooks and their deliveries, and command them (webhooks.md). */
export function createWebhookRoutes({
  webhookDispatcher: dispatcher,
  recordChange,
}: WebhookRoutesParts): readonly Route[] {
  /**
   * Calls the dispatcher once the change is in the log. `not-recorded`: nothing was done. A command for an endpoint that the
   * workspace file does not have is no change.
   */
  async function command<Answer extends object | string>(
    request: CheckedRequest,
    kind: OperatorChangeKind,
    details: OperatorChangeDetails,
    call: () => Promise<CallOutcome<Answer>>,
  ): Promise<CallOutcome<Answer> | { readonly outcome: 'not-recorded' }> {
    const target = endpointIn(request)?.endpointId
    if (!request.project.config.webhooks.some(({ id }) => id === target)) return { outcome: 'not-found' }
    const wanted = { kind, target, details }
    const recorded = await recordChange(request, wanted, call, endOfCall)
    return recorded.outcome === 'recorded' ? recorded.result : recorded
  }

  async function listWebhooks({ project: place, deadlineAt }: CheckedRequest): Promise<Result> {
    const { organization, project } = place
    const read = await dispatcher.readEndpoints({ organization, project }, { deadlineAt })
    return read.outcome === 'answered' ? answer(200, read.answer) : refuse(NOT_READ)
  }

  async function listDeliveries(request: CheckedRequest): Promise<Result> {
    const page = parsePage(request.parameters, (after) => DeliveryPosition.safeParse(after).success)
    if (page.outcome === 'refused') return page
    const wanted = parseFilters(request.parameters)
    if (wanted.outcome === 'refused') return wanted
    const endpoint = endpointIn(request)
    if (!endpoint) return refuse(REFUSALS.webhook)
    const { deadlineAt } = request
    const read = await dispatcher.readDeliveries({ ...endpoint, ...wanted.filters, ...page.query }, { deadlineAt })
    return answerRead(read, REFUSALS.webhook)
  }

  async function getDelivery(request: CheckedRequest): Promise<Result> {
    const delivery = deliveryIn(request)
    if (!delivery) return refuse(REFUSALS.delivery)
    return answerRead(await dispatcher.readDelivery(delivery, { deadlineAt: request.deadlineAt }), REFUSALS.delivery)
  }

  async function replayWebhook(request: CheckedRequest): Promise<Result> {
    const parsed = parseReplayBody(request.body, request.receivedMs)
    if (parsed.outcome === 'rejected') return refuseBody(parsed)
    const endpoint = endpointIn(request)
    if (!endpoint) return refuse(REFUSALS.webhook)
    const { events, ...range } = parsed.value
    const wanted = { ...endpoint, ...range, ...(events && { events: [...events] }) }
    const details = { ...range, ...(events && { events: events.join(', ') }) }
    const begun = await command(request, 'webhook.replay', details, () =>
      dispatcher.replay(wanted, { deadlineAt: request.deadlineAt }),
    )
    return answerCommand(begun, REFUSALS.webhook, 202)
  }

  async function retryDeliveries(request: CheckedRequest): Promise<Result> {
    const parsed = parseRetryBody(request.body, request.receivedMs)
    if (parsed.outcome === 'rejected') return refuseBody(parsed)
    const endpoint = endpointIn(request)
    if (!endpoint) return refuse(REFUSALS.webhook)
    const retried = await command(request, 'webhook.retry', { ...parsed.value }, () =>
      dispatcher.retryFailed({ ...endpoint, ...parsed.value }, { deadlineAt: request.deadlineAt }),
    )
    return answerCommand(retried, REFUSALS.webhook, 200)
  }

  async function retryDelivery(request: CheckedRequest): Promise<Result> {
    const delivery = deliveryIn(request)
    if (!delivery) return refuse(REFUSALS.delivery)
    const retried = await command(request, 'webhook.retry', { deliveryId: delivery.deliveryId }, () =>
      dispatcher.retryDelivery(delivery, { deadlineAt: request.deadlineAt }),
    )
    return answerCommand(retried, REFUSALS.delivery, 202)
  }

  async function testWebhook(request: CheckedRequest): Promise<Result> {
    const endpoint = endpointIn(request)
    if (!endpoint) return refuse(REFUSALS.webhook)
    const begun = await command(request, 'webhook.test', {}, () =>
      dispatcher.testEndpoint(endpoint, { deadlineAt: request.deadlineAt }),
    )
    return answerCommand(begun, REFUSALS.webhook, 202)
  }

  async function enableWebhook(request: CheckedRequest): Promise<Result> {
    const endpoint = endpointIn(request)
    if (!endpoint) return refuse(REFUSALS.webhook)
    const enabled = await command(request, 'webhook.enable', {}, () =>
      dispatcher.enableEndpoint(endpoint, { deadlineAt: request.deadlineAt }),
    )
    return answerCommand(enabled, REFUSALS.webhook, 204)
  }

  return [
    { ...ROUTES.listWebhooks, handle: listWebhooks },
    { ...ROUTES.listDeliveries, handle: listDeliveries },
    { ...ROUTES.getDelivery, handle: getDelivery },
    { ...ROUTES.replayWebhook, handle: replayWebhook },
    { ...ROUTES.retryDeliveries, handle: retryDeliveries },
    { ...ROUTES.retryDelivery, handle: retryDelivery },
    { ...ROUTES.testWebhook, handle: testWebhook },
    { ...ROUTES.enableWebhook, handle: enableWebhook },
  ]
}

const NOT_READ = REFUSALS.notRead('webhook dispatcher')

type Rule = Parameters<typeof refuse>[0]

function answerRead(read: CallOutcome<object>, notFound: Rule): Result {
  if (read.outcome === 'not-found') return refuse(notFound)
  return read.outcome === 'answered' ? answer(200, read.answer) : refuse(NOT_READ)
}

/** Why the dispatcher does not do a command. */
const REASONS = {
  [TOO_MANY_REPLAYS]: REFUSALS.replays,
  [TOO_MANY_REPLAYS_KEPT]: REFUSALS.replaysKept,
  [TOO_MANY_TESTS]: REFUSALS.tests,
  [TOO_MANY_TESTS_A_DAY]: REFUSALS.testsOfDay,
  [TEST_IS_SENT_ONCE]: REFUSALS.testRetried,
  [DISABLED_IN_FILE]: REFUSALS.disabledInFile,
} as const satisfies Readonly<Record<string, Rule>>

type Done = object | typeof DONE | keyof typeof REASONS

function answerCommand(
  done: CallOutcome<Done> | { readonly outcome: 'not-recorded' },
  notFound: Rule,
  status: number,
): Result {
  if (done.outcome === 'not-recorded') return refuse(REFUSALS.notRecorded)
  if (done.outcome === 'not-found') return refuse(notFound)
  if (done.outcome !== 'answered') return refuse(REFUSALS.notDone('webhook dispatcher'))
  if (done.answer === DONE) return answer(status, {})
  return typeof done.answer === 'string' ? refuse(REASONS[done.answer]) : answer(status, done.answer)
}

interface Filters {
  readonly status?: DeliveryStatus
  readonly userId?: string
}

function parseFilters(
  parameters: URLSearchParams,
): { readonly outcome: 'parsed'; readonly filters: Filters } | Refusal {
  const status = DeliveryStatus.optional().safeParse(parameters.get('status') ?? undefined)
  if (!status.success) return refuse(REFUSALS.deliveryStatus)
  const userId = Uuid.optional().safeParse(parameters.get('user') ?? undefined)
  if (!userId.success) return refuse(REFUSALS.userOfDeliveries)
  return {
    outcome: 'parsed',
    filters: { ...(status.data && { status: status.data }), ...(userId.data && { userId: userId.data }) },
  }
}

/** Returns the endpoint in the path; undefined: no endpoint can have this id. */
function endpointIn({ parameters, project: { organization, project } }: CheckedRequest) {
  const endpointId = SlugId.safeParse(parameters.get('endpointId'))
  return endpointId.success ? { organization, project, endpointId: endpointId.data } : undefined
}

function deliveryIn(request: CheckedRequest) {
  const endpoint = endpointIn(request)
  const deliveryId = Uuid.safeParse(request.parameters.get('deliveryId'))
  return endpoint && deliveryId.success ? { ...endpoint, deliveryId: deliveryId.data } : undefined
}
