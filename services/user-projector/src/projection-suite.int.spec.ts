import { randomUUID } from 'node:crypto'
import { answerGiven, eventTracked, identifyRequested, visit, visitAnswered } from '@nextvisit/contracts/fixtures'
import { countKeyOf } from '@nextvisit/domain'
import { describeProjection } from '@nextvisit/testing'
import { catalogOf, readAllRows } from '../test/given-projector.ts'
import { userProjector } from './consumer.ts'

function traits(from: number, count: number) {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`trait_${from + at}`, at]))
}

const LARGE = { event: 'Opened', atLeast: 1, where: { property: 'total', atLeast: 100 } } as const
const countsFor = [countKeyOf(LARGE).slice('opened#'.length)]

describeProjection(userProjector, {
  catalog: catalogOf([
    { id: 'paying', where: { trait: 'plan', is: 'free' } },
    { id: 'active', where: { event: 'checkout_completed', atLeast: 1, within: '1h' } },
    { id: 'idle', where: { not: { segment: 'active' } } },
    { id: 'large', where: LARGE },
    { id: 'detractors', where: { answer: { form: 'nps', element: 'score' }, atMost: 6 } },
  ]),
  facts: [
    eventTracked({ userName: 'bob', source: 'sdk' }),
    identifyRequested({ operations: { set: { plan: 'free', seats: 1 }, increment: { logins: 1 } } }),
    identifyRequested({ keyed: true, operations: { increment: { logins: 1, plan: 1 } } }),
    eventTracked({ keyed: true }),
    visit({ operations: { setOnce: { source: 'ad' } }, device: { $countryCode: 'DE', $deviceOs: 'iOS' } }),
    answerGiven({ keyed: true }),
    answerGiven({ offerId: randomUUID(), status: 'partial', answers: { score: 4 }, elements: { score: 'nps' } }),
    answerGiven({ userName: 'bob', formId: 'csat', answers: { reason: 'slow' }, elements: { reason: 'text' } }),
    visitAnswered({ visitId: randomUUID(), queuedId: randomUUID(), formId: 'nps' }),
    eventTracked({ source: 'sdk', received: '2026-11-02T12:00:00.000Z' }),
    eventTracked({ userName: 'bob', occurredAt: '2026-10-01T10:00:00.000Z' }),
    identifyRequested({ userName: 'bob', received: '2026-11-02T11:00:00.000Z' }),
    identifyRequested({
      received: '2026-11-02T09:00:00.000Z',
      operations: { decrement: { seats: 2 }, unset: ['plan'] },
    }),
    eventTracked({ eventName: 'Opened', keyed: true, properties: { total: 100 }, countsFor }),
    eventTracked({ eventName: 'Opened', properties: { total: 1 } }),
    eventTracked({ eventName: 'Opened', userName: 'bob', properties: { total: 200 }, countsFor }),
    identifyRequested({ project: 'blog', operations: { set: { plan: 'pro' } } }),
    visit({ device: { $deviceOs: 'Android' } }),
    // More than is kept of a user: the same is dropped, however records are cut into batches.
    identifyRequested({ userName: 'bob', operations: { set: traits(0, 990) } }),
    identifyRequested({
      userName: 'bob',
      operations: { setOnce: traits(980, 20), set: { long: 'x'.repeat(300_000) } },
    }),
    identifyRequested({ userName: 'bob', imported: true, operations: { set: traits(999, 5) } }),
  ],
  readRows: readAllRows,
})
