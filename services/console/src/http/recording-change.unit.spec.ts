import { createChangeWriter } from '@nextvisit/operator-changes'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { deadLettersApi } from '../dead-letters/api.ts'
import { answered, type ApiRoute, refuse } from './api-route.ts'
import { defineRoute } from './define-route.ts'
import { changeActorOf, recordingChange } from './recording-change.ts'

/** A log in memory, which can be away. */
function givenLog(isAway = false) {
  const written: Record<string, unknown>[] = []
  const changes = createChangeWriter({
    source: 'console',
    publish: async ({ value }) => {
      if (isAway) return { outcome: 'not-published', reason: 'deadline' }
      written.push(JSON.parse(value ?? '') as Record<string, unknown>)
      return { outcome: 'published', offset: BigInt(written.length - 1) }
    },
  })
  return { changes, written }
}

const definition = defineRoute({
  role: 'operator',
  input: z.strictObject({ endpointId: z.string() }),
  answer: z.strictObject({ deliveryId: z.string() }),
  change: ({ endpointId }, answer) => ({ kind: 'webhook.test', target: endpointId, details: { ...answer } }),
})

const routeWith = (handle: ApiRoute['handle']): ApiRoute => ({ ...definition, method: 'POST', path: 'tests', handle })

it('a route that changes something writes the change with its author first, and its result afterwards', async () => {
  const { changes, written } = givenLog()
  const handle = recordingChange(
    routeWith(() => answered({ deliveryId: `after ${written.length} record` })),
    changes,
  )
  const result = await callRoute({ handle }, { endpointId: 'crm' }, givenSession('operator', 'Grace'))
  expect(result).toEqual(answered({ deliveryId: 'after 1 record' }))
  const actor = { kind: 'console', name: 'Grace', isVerified: false, via: 'token' }
  expect(written).toMatchObject([
    { type: 'ChangeRequested', kind: 'webhook.test', target: 'crm', actor },
    { type: 'ChangeEnded', outcome: 'made', details: { deliveryId: 'after 1 record' }, actor },
  ])
})

it('a change that every consumer has failed to make is failed', async () => {
  const { changes, written } = givenLog()
  const setAside = deadLettersApi.setRecordAside
  const failed = [{ service: 'metering', message: 'It does not answer.' }]
  const handle = recordingChange({ ...setAside, handle: () => answered({ failed }) }, changes)
  await callRoute({ handle }, { services: ['metering'], partition: 0, offset: '7' }, givenSession('operator'))
  expect(written.at(-1)).toMatchObject({ outcome: 'failed', reason: 'NOT_SET_ASIDE', details: { failed: 1 } })
})

it.each([
  [409, 'refused'],
  [503, 'failed'],
])('a change that the route answers with %i is %s, with the code of the answer', async (status, outcome) => {
  const { changes, written } = givenLog()
  const handle = recordingChange(
    routeWith(() => refuse(status, 'too-many-tests', 'Ada has too many.')),
    changes,
  )
  await callRoute({ handle }, { endpointId: 'crm' }, givenSession('operator'))
  expect(written.at(-1)).toMatchObject({ outcome, reason: 'too-many-tests' })
})

it('a route that changes something does nothing while the log cannot be written', async () => {
  const { changes } = givenLog(true)
  let calls = 0
  const handle = recordingChange(
    routeWith(() => answered({ deliveryId: String((calls += 1)) })),
    changes,
  )
  const result = await callRoute({ handle }, { endpointId: 'crm' }, givenSession('operator'))
  expect(result).toMatchObject({ outcome: 'refused', status: 503, error: 'not-recorded' })
  expect(calls).toBe(0)
})

it('the name of a person whom an identity provider has signed in is verified', () => {
  const person = { role: 'operator', name: 'Grace', isVerified: true, subject: 'u1', logName: 'a1' } as const
  expect(changeActorOf(person)).toEqual({
    kind: 'console',
    name: 'Grace',
    isVerified: true,
    via: 'openid',
    subject: 'u1',
  })
})
