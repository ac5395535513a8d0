import type { IdentifyRequested } from '@nextvisit/contracts'
import { type IdentifyBody, parseIdentifyBody } from '@nextvisit/domain'
import type { AdmitIdentify } from '../../admission/admit-identify.ts'
import { defineKind } from '../stages.ts'
import { answer } from '../../http/route.ts'

/** Creates the identify of a server, alone or in a batch (contract, Identify user). */
export function createIdentifyKind(admit: AdmitIdentify) {
  return defineKind<IdentifyBody, IdentifyRequested>({
    identifies: true,
    parse: ({ body }) => parseIdentifyBody(body),
    admit,
    mayReact: () => false,
    answer: ({ userId }) => answer(200, { message: 'ok', userId }),
  })
}
