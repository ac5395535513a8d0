import { createLogger } from '@nextvisit/service-kit'
import { expect, it } from 'vitest'
import { givenNoServices } from '../../test/given-no-services.ts'
import { callRoute, givenSession } from '../../test/given-session.ts'
import { answered } from '../http/api-route.ts'
import { noAnswerOf } from '../services.ts'
import { createDeadLetterRoutes } from './routes.ts'

const AT = '2026-11-23T03:00:00.000Z'
const selected = { by: 'records' as const, records: [{ topic: 'user-events', partition: 3, offset: '1704' }] }
const { consumers: silent } = givenNoServices()
type Calls = NonNullable<ReturnType<typeof silent.get>>

/** The route with the consumers `metering`, which decides, and `user-projector`, which does not answer. */
function decideIn(services: readonly string[]) {
  const asked: unknown[] = []
  const base = silent.get('metering') as Calls
  const decide: Calls['decide'] = async (question) => {
    asked.push(question)
    return answered({ count: 1, decidedAt: AT, isFull: false })
  }
  const consumers = new Map([
    ['metering', { ...base, decide }],
    ['user-projector', { ...base, decide: async () => noAnswerOf('user-projector') }],
  ])
  const { decideDeadLetters } = createDeadLetterRoutes({ consumers, logger: createLogger('spec', 'silent') })
  const session = givenSession('operator', 'Grace')
  const selections = services.map((service) => ({ service, selected }))
  return { asked, answer: callRoute(decideDeadLetters, { decision: 'retry', selections }, session) }
}

it('a decision about a record reaches each consumer, and one that does not answer is listed', async () => {
  const { asked, answer } = decideIn(['metering', 'user-projector'])
  expect(await answer).toEqual(
    answered({
      consumers: [
        { service: 'metering', outcome: 'decided', count: 1, decidedAt: AT, isFull: false },
        { service: 'user-projector', outcome: 'failed', message: expect.stringContaining('does not answer') },
      ],
    }),
  )
  expect(asked).toEqual([{ decision: 'retry', selected, by: 'Grace' }])
})

it('a decision in one consumer that does not answer is refused', async () => {
  expect(await decideIn(['user-projector']).answer).toMatchObject({ outcome: 'refused', error: 'no-answer' })
  expect(await decideIn(['nobody']).answer).toMatchObject({ outcome: 'refused', error: 'no-such-consumer' })
})

const setAside: Calls['setAside'] = async () => answered({ outcome: 'asked' })
const refuse: Calls['setAside'] = async () => answered({ outcome: 'refused', reason: 'It is not halted.' })

it('a record is set aside in each consumer that it halts, and the others are listed', async () => {
  const base = silent.get('metering') as Calls
  const consumers = new Map([
    ['metering', { ...base, setAside }],
    ['user-projector', { ...base, setAside: refuse }],
  ])
  const { setRecordAside } = createDeadLetterRoutes({ consumers, logger: createLogger('spec', 'silent') })
  const session = givenSession('operator', 'Grace')
  const asked = (services: readonly string[]) =>
    callRoute(setRecordAside, { services, partition: 3, offset: '1704' }, session)
  expect(await asked(['metering', 'user-projector'])).toEqual(
    answered({ failed: [{ service: 'user-projector', message: 'It is not halted. Nothing was done.' }] }),
  )
  expect(await asked(['user-projector'])).toMatchObject({ outcome: 'refused', error: 'not-halted' })
})
