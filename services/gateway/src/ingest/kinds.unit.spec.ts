import { createHmac } from 'node:crypto'
import { encryptSigningSecret } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { KeyKind } from '@nextvisit/contracts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describe, expect, it } from 'vitest'
import type { AdmissionParts } from '../admission/admission.ts'
import type { CheckedRequest } from '../http/route.ts'
import { createStages, type StagesParts } from './stages.ts'
import { createSigningSecrets } from './signing-secrets.ts'
import { createCheckSignature } from './user-signature.ts'
import { createKinds } from './kinds.ts'
import { createReadAnswer } from '../admission/read-answer.ts'

const keyRing = givenKeyRing('ab'.repeat(32))
const signature = createHmac('sha256', 'shared secret').update('ada').digest('hex')

/** Only the body matters: everything that passes was answered before. */
const stages = createStages({
  checkSignature: createCheckSignature(
    createSigningSecrets({ catalog: staticCatalog([]), keyRing, logger: { error: () => {} } }),
  ),
  checkSuppression: () => undefined,
  keptAnswers: { lock: async () => ({ outcome: 'answered', answer: { status: 202, body: {} } }) },
} as unknown as StagesParts)

const { track: kind } = createKinds({} as AdmissionParts, {
  countryOf: () => undefined,
  formOf: (_project, { queuedId: offerId, formId }) => ({ offerId, formId }),
  readAnswer: createReadAnswer(staticCatalog([])),
})

/** The status of a request by this kind of key. */
async function track(keyKind: KeyKind, requireUserSignature: boolean, members: object) {
  const signingSecret = encryptSigningSecret('shared secret', keyRing, { organization: 'acme', project: 'shop' })
  const projects = [{ id: 'shop', requireUserSignature, signingSecret }]
  const project = staticCatalog([organizationConfig({ id: 'acme', projects })]).project('acme', 'shop')
  const body = { userName: 'ada', eventName: 'Checkout', ...members }
  const key = { entry: { kind: keyKind } }
  const request = { project, key, receivedMs: Date.now(), requestId: 'a', idempotency: 'none', body }
  return (await stages.record(kind, request as unknown as CheckedRequest)).status
}

describe('userSignature of a tracked event (decisions.md, Beyond the document)', () => {
  it('is required from a publishable key if the project requires it', async () => {
    expect(await track('sdk', true, { userSignature: signature })).toBe(202)
    expect(await track('sdk', true, { userSignature: signature.replace(/^./, 'x') })).toBe(401)
    expect(await track('sdk', true, {})).toBe(401)
  })

  it('is required neither if the project does not, nor from a server', async () => {
    expect(await track('sdk', false, {})).toBe(202)
    expect(await track('admin', true, {})).toBe(202)
  })
})
