import type { LedgerEntry } from '@nextvisit/audit'
import { callGateway, type GatewayAnswer } from '@nextvisit/testing/black-box'
import type { CampaignProject } from './campaign-projects.ts'

/** A request with its answer, recorded by the caller. Times in ms of this process' clock. */
export interface RecordedCall extends LedgerEntry {
  readonly route: Request['route']
  readonly sentAt: number
  readonly elapsedMs: number
  /** The form in the answer of a visit. */
  readonly offer?: Offer
}

/** A form that a visit got, as answers name it. */
export interface Offer {
  readonly offerId: string
  readonly formId: string
  readonly revision: number
}

export interface Request {
  readonly route:
    | '/v2/admin/identify-user'
    | '/v2/admin/track-event'
    | '/v2/sdk/identify-user'
    | '/v2/sdk/track-event'
    | '/v2/sdk/answers'
  readonly body: Readonly<Record<string, unknown>> & { readonly userName: string }
  readonly idempotencyKey?: string
}

/** Sends requests like projects' back ends and pages, and records each one with its answer. */
export interface RecordingClient {
  /** `through`: the URL of another gateway. */
  readonly send: (project: CampaignProject, request: Request, through?: string) => Promise<RecordedCall>
  readonly calls: () => readonly RecordedCall[]
}

export function createRecordingClient(gatewayUrl: string): RecordingClient {
  const calls: RecordedCall[] = []
  return {
    calls: () => calls,
    send: async (
      { organization, project, adminKey, sdkKey },
      { route, body, idempotencyKey },
      through = gatewayUrl,
    ) => {
      const apiKey = route.startsWith('/v2/sdk/') ? sdkKey : adminKey
      const keyed = idempotencyKey !== undefined
      const sent = await callGateway({ gatewayUrl: through, route, apiKey, body, ...(keyed && { idempotencyKey }) })
      const { userName, eventName } = body
      const { answer, ...known } = sent
      const call: RecordedCall = {
        route,
        organization,
        project,
        userName,
        keyed,
        ...(typeof eventName === 'string' && { eventName }),
        ...eventAnswerOf(answer),
        ...offerIn(answer),
        ...known,
      }
      calls.push(call)
      return call
    },
  }
}

/** The answer's information about an event. If triggers are evaluated later, the answer does not count queued forms. */
function eventAnswerOf({
  newEvent,
  triggersEvaluated,
  formsQueued,
}: GatewayAnswer['answer']): Pick<RecordedCall, 'newEvent' | 'formsQueued'> {
  return {
    ...(typeof newEvent === 'boolean' && { newEvent }),
    ...(triggersEvaluated === true && typeof formsQueued === 'number' && { formsQueued }),
  }
}

function offerIn({ nextFeedback }: GatewayAnswer['answer']): Pick<RecordedCall, 'offer'> {
  if (typeof nextFeedback !== 'object' || nextFeedback === null) return {}
  const { offerId, formId, revision } = nextFeedback as Partial<Offer>
  return offerId !== undefined && formId !== undefined && revision !== undefined
    ? { offer: { offerId, formId, revision } }
    : {}
}
