import { createHmac } from 'node:crypto'
import { encryptSigningSecret, staticCatalog } from '@nextvisit/catalog'
import type { KeyKind } from '@nextvisit/contracts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import type { CheckedRequest } from '../request/route.ts'
import type { RecordRequest } from './record-request.ts'
import { createTrackEvent, createTrackRecording } from './track-event.ts'
import { createCheckSignature } from './user-signature.ts'

const SECRET_KEY = 'ab'.repeat(32)
const signature = createHmac('sha256', 'shared secret').update('ada').digest('hex')

/** Looks at the body only. */
const recordRequest: RecordRequest = async (recording, request) => {
  const parsed = recording.parse(request)
  return parsed.outcome === 'refused' ? parsed : { outcome: 'answered', status: 202, body: {} }
}

const admit = () => Promise.reject(new Error('there is no policy in this spec'))

/** What becomes of a request by this kind of key after its body was looked at. */
async function track(keyKind: KeyKind, requireUserSignature: boolean, members: object) {
  const signingSecret = encryptSigningSecret('shared secret', SECRET_KEY, { organization: 'acme', project: 'shop' })
  const projects = [{ id: 'shop', requireUserSignature, signingSecret }]
  const project = staticCatalog([organizationConfig({ id: 'acme', projects })]).project('acme', 'shop')
  const body = { userName: 'ada', eventName: 'Checkout', ...members }
  const recording = createTrackRecording(keyKind, admit, createCheckSignature(SECRET_KEY))
  const route = createTrackEvent(keyKind, recording, recordRequest)
  const { status } = await route.handle({ project, body, receivedMs: Date.now() } as unknown as CheckedRequest)
  return status
}

describe('userSignature of a tracked event (decisions.md, Beyond the document)', () => {
  it('is asked of a publishable key where the project requires it', async () => {
    expect(await track('sdk', true, { userSignature: signature })).toBe(202)
    expect(await track('sdk', true, { userSignature: signature.replace(/^./, 'x') })).toBe(401)
    expect(await track('sdk', true, {})).toBe(401)
  })

  it('is not asked where the project does not require it, nor of a server', async () => {
    expect(await track('sdk', false, {})).toBe(202)
    expect(await track('admin', true, {})).toBe(202)
  })
})
