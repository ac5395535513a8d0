import type { IdentifyRequested } from '@nextvisit/contracts'
import { type IdentifyBody, parseIdentifyBody } from '@nextvisit/domain'
import type { AdmitIdentify } from '../admission/admit-identify.ts'
import { answer } from '../api/answer.ts'
import type { Recording } from './prepare-record.ts'

export type IdentifyRecording = Recording<IdentifyBody, IdentifyRequested>

/** How a server identifies a user, alone or in a batch (contract, Identify user). */
export function createIdentifyRecording(admit: AdmitIdentify): IdentifyRecording {
  return {
    parse: ({ body }) => parseIdentifyBody(body),
    mayReact: () => false,
    admit,
    answer: (_request, { fact }) => answer(200, { message: 'ok', userId: fact.userId }),
  }
}
