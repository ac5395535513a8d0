import type { AdmitIdentify } from '../admission/admit-identify.ts'
import { parseIdentifyBody } from '@nextvisit/domain'
import type { AnswerOnce } from '../idempotency/answer-once.ts'
import type { Ingest } from '../ingest.ts'
import { refuseBody } from '../refusal.ts'
import { answer, type Route } from '../route.ts'
import { ROUTES } from '../route-table.ts'

/** `POST /v2/admin/identify-user` (contract, Identify user). */
export function createIdentifyUser(admitIdentify: AdmitIdentify, ingest: Ingest, answerOnce: AnswerOnce): Route {
  return {
    ...ROUTES.identifyUser,
    handle: async (request) => {
      const parsed = parseIdentifyBody(request.body)
      if (parsed.outcome === 'rejected') return refuseBody(parsed)
      const { value: body } = parsed
      return answerOnce(request, async () => {
        const result = await ingest(request, {
          userName: body.userName,
          admit: (place) => admitIdentify(request, body, place),
        })
        if (result.outcome === 'refused') return result
        return answer(200, { message: 'ok', userId: result.fact.userId })
      })
    },
  }
}
