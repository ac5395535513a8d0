import type { Result } from '../http/route.ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { idempotencyOf, requestedItem, kindWith } from '../../test/given-stages.ts'
import { REFUSALS, refuse } from '../refusals/refusals.ts'
import { type RequestedItem, planBatch, type Step } from './plan-batch.ts'

type Items = readonly (RequestedItem | Result)[]

const [identify, track] = [kindWith({ identifies: true }), kindWith({ identifies: false })]
const MALFORMED = refuse(REFUSALS.path)
const KEY_OF_ANOTHER = refuse(REFUSALS.keyOfAnother)
const createUser = () => expect.unreachable('A plan creates nothing')

/** `createsUsers`: as in batches of Segment's libraries. */
const arbitraryItem = (createsUsers: boolean): fc.Arbitrary<RequestedItem | Result> =>
  fc
    .record({
      userName: fc.constantFrom('ada', 'grace', 'alan'),
      isIdentify: fc.boolean(),
      key: fc.option(fc.constantFrom('k', 'l'), { nil: undefined }),
      content: fc.constantFrom('a', 'b'),
      isMalformed: fc.integer({ min: 0, max: 7 }).map((chance) => chance === 0),
    })
    .map(({ userName, isIdentify, key, content, isMalformed }) => {
      if (isMalformed) return MALFORMED
      const idempotency = key === undefined ? 'none' : idempotencyOf(key, `${userName} ${isIdentify} ${content}`)
      const requestId = typeof idempotency === 'object' ? idempotency.recordId : 'random'
      const mayCreate = createsUsers && !isIdentify
      const kind = isIdentify ? identify : track
      return requestedItem(kind, { userName }, { requestId, idempotency }, mayCreate ? createUser : undefined)
    })
const arbitraryBatch = fc.boolean().chain((createsUsers) => fc.array(arbitraryItem(createsUsers), { maxLength: 20 }))

function everyPlan(rule: (items: Items, plan: ReturnType<typeof planBatch>) => void): void {
  fc.assert(fc.property(arbitraryBatch, (items) => rule(items, planBatch(items))))
}

const nameOf = ({ request: { idempotency } }: RequestedItem) =>
  typeof idempotency === 'object' ? idempotency.name : undefined
const userNameOf = ({ item }: Step) => item.request.body['userName']
const isIdentify = (step: Step) => step.type === 'item' && step.item.kind.identifies

/** Returns the first item with the key of this one. */
function firstOf(items: Items, item: RequestedItem): RequestedItem {
  const planned = items.flatMap((one) => ('outcome' in one ? [] : [one]))
  const name = nameOf(item)
  return (name === undefined ? undefined : planned.find((one) => nameOf(one) === name)) ?? item
}

/** Returns the user of each step, and the step that creates it. */
const stepsOf = (items: Items) => planBatch(items).steps.map(({ type, user, createdBy }) => ({ type, user, createdBy }))
const itemFor = (kind: typeof track, userName: string) => requestedItem(kind, { userName })

describe('an example batch', () => {
  it('of two users has one step for each item, and a number for each user', () => {
    expect(stepsOf([itemFor(identify, 'ada'), itemFor(track, 'grace'), itemFor(track, 'ada')])).toEqual([
      { type: 'item', user: 0, createdBy: undefined },
      { type: 'item', user: 1, createdBy: undefined },
      { type: 'item', user: 0, createdBy: undefined },
    ])
  })

  it('with one item twice has one step, whose result both items get', () => {
    const twice = requestedItem(track, { userName: 'ada' }, { requestId: 'k a', idempotency: idempotencyOf('k', 'a') })
    const { steps, results } = planBatch([twice, twice])
    expect(steps).toHaveLength(1)
    expect(results.map(({ from }) => from)).toEqual([0, 0])
  })

  it('that creates users starts with the creation, and creates again after an identify', () => {
    const event = requestedItem(track, { userName: 'ada' }, {}, createUser)
    expect(stepsOf([event, event, itemFor(identify, 'ada'), event])).toEqual([
      { type: 'creation', user: 0, createdBy: undefined },
      { type: 'item', user: 0, createdBy: 0 },
      { type: 'item', user: 0, createdBy: 0 },
      { type: 'item', user: 0, createdBy: undefined },
      { type: 'creation', user: 0, createdBy: undefined },
      { type: 'item', user: 0, createdBy: 4 },
    ])
  })
})

it('a plan has one step for each item, in their order, and one for all items with one key and body', () => {
  everyPlan((items, { steps }) => {
    const planned = steps.flatMap((step) => (step.type === 'item' ? [step.item] : []))
    expect(planned).toEqual(items.filter((item) => !('outcome' in item) && firstOf(items, item) === item))
  })
})

it('a plan takes the result of an item from its step, and refuses an item whose key has another body', () => {
  everyPlan((items, { steps, results }) => {
    const found = results.map(({ from }) => {
      const step = typeof from === 'number' ? steps[from] : undefined
      return step?.type === 'item' ? step.item : from
    })
    const wanted = items.map((item) => {
      if ('outcome' in item) return item
      const first = firstOf(items, item)
      return first.request.requestId === item.request.requestId ? first : KEY_OF_ANOTHER
    })
    expect(found).toEqual(wanted)
  })
})

it('a plan numbers users by their names', () => {
  everyPlan((_items, { steps }) => {
    const count = new Set(steps.map((step) => `${step.user} ${String(userNameOf(step))}`)).size
    expect(new Set(steps.map(({ user }) => user)).size).toBe(count)
    expect(new Set(steps.map(userNameOf)).size).toBe(count)
  })
})

it('a plan creates the user of an event once before each run of events, and an identify ends the run', () => {
  everyPlan((items, { steps }) => {
    const createsUsers = items.some((item) => !('outcome' in item) && item.createUser !== undefined)
    const wanted = steps.map((step, at) => {
      if (!createsUsers || step.type === 'creation' || isIdentify(step)) return undefined
      const own = steps.flatMap((one, position) => (one.user === step.user && position < at ? [position] : []))
      const run = own.slice(own.findLastIndex((position) => steps.slice(position, position + 1).some(isIdentify)) + 1)
      const creations = run.filter((position) => steps[position]?.type === 'creation')
      return creations.length === 1 && creations[0] === run[0] ? creations[0] : 'not one creation first'
    })
    expect(steps.map(({ createdBy }) => createdBy)).toEqual(wanted)
  })
})

it('a plan has no creation without an item that depends on it', () => {
  everyPlan((_items, { steps, results }) => {
    const used = new Set([...steps, ...results].map(({ createdBy }) => createdBy))
    expect(steps.filter((step, at) => step.type === 'creation' && !used.has(at))).toEqual([])
  })
})
