import type { IdentifyRequested } from '@nextvisit/contracts'
import { type IdentifyBody, parseIdentifyBody } from '@nextvisit/domain'
import type { AdmitIdentify } from '../admission/admit-identify.ts'
import { answer } from '../http/write-answer.ts'
import type { Recording, RecordRequest } from './record-request.ts'
import { type Route, ROUTES } from './route.ts'

/** `POST /v2/admin/identify-user` (contract, Identify user). */
export function createIdentifyUser(admit: AdmitIdentify, recordRequest: RecordRequest): Route {
  const recording: Recording<IdentifyBody, IdentifyRequested> = {
    parse: ({ body }) => parseIdentifyBody(body),
    mayReact: () => false,
    admit,
    answer: (_request, { fact }) => answer(200, { message: 'ok', userId: fact.userId }),
  }
  return { ...ROUTES.identifyUser, handle: (request) => recordRequest(recording, request) }
}
