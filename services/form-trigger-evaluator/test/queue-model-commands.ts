import { isRequestFact, type ProjectConfig, type UserFact } from '@nextvisit/contracts'
import { answerGiven, eventTracked, identifyRequested, visitAnswered } from '@nextvisit/contracts/fixtures'
import * as fc from 'fast-check'
import { at, MINUTE, SECOND, START } from './evaluator-fixtures.ts'
import type { RunningEvaluator, Sent } from './given-running-evaluator.ts'
import { expectSame, type Expected, expectReplies, expectedReply, type QueueStory } from './queue-story.ts'
import { changes } from './queue-model-workspaces.ts'

/** Commands for the queue. Each compares every effect with the model. */
type QueueCommand = fc.AsyncCommand<QueueStory, RunningEvaluator>

/** Returns the records to send; none if there are none yet. */
type Says = (story: QueueStory) => Sent | undefined
interface Saying {
  readonly text: string
  readonly says: Says
}

function command(text: string, run: (story: QueueStory, evaluator: RunningEvaluator) => Promise<void>): QueueCommand {
  return {
    check: () => true,
    run: async (story, evaluator) => {
      await run(story, evaluator)
      await expectSame(story, evaluator)
    },
    toString: () => text,
  }
}

/** Records, in one batch. */
function sends(sayings: readonly Saying[]): QueueCommand {
  return command(sayings.map(({ text }) => text).join(' + '), async (story, evaluator) => {
    const sent = sayings.flatMap(({ says }) => says(story) ?? [])
    const expected = sent.map((one): Expected | undefined => expectedReply(story, one))
    story.sent.push(...sent)
    expectReplies(story, await evaluator.send(sent), expected)
  })
}

const user = fc.constantFrom('ada', 'ada', 'ada', 'bob')
const source = fc.constantFrom('sdk' as const, 'admin' as const)
const plan = fc.constantFrom(undefined, undefined, 'pro', 'free')
/** A gateway's clock is a little behind another's. */
const skew = fc.constantFrom(0, 0, 0, SECOND)
const nth = fc.nat({ max: 99 })

function operations(to: string | undefined) {
  return to === undefined ? {} : { set: { plan: to } }
}

const identify = fc.record({ user, plan }).map(
  (said): Saying => ({
    text: `identify(${said.user} ${said.plan ?? ''})`,
    says: ({ now }) => ({
      fact: identifyRequested({ userName: said.user, received: at(now), operations: operations(said.plan) }),
      isHeard: false,
    }),
  }),
)

const visit = fc
  .record({ user, plan, skew, keyed: fc.boolean(), isHeard: fc.constantFrom(true, true, true, false) })
  .map(
    (said): Saying => ({
      text: `visit(${Object.values(said).join(' ')})`,
      says: ({ now }) => ({
        fact: identifyRequested({
          userName: said.user,
          source: 'sdk',
          keyed: said.keyed,
          received: at(now - said.skew),
          operations: operations(said.plan),
        }),
        isHeard: said.isHeard,
      }),
    }),
  )

function track(ages: fc.Arbitrary<number>): fc.Arbitrary<Saying> {
  const slug = fc.constantFrom('checkout', 'search')
  return fc.record({ user, slug, source, skew, age: ages, keyed: fc.boolean() }).map((said) => ({
    text: `track(${Object.values(said).join(' ')})`,
    says: ({ now }) => {
      const received = now - said.skew
      const fact = eventTracked({
        userName: said.user,
        source: said.source,
        keyed: said.keyed,
        eventName: said.slug,
        received: at(received),
        occurredAt: at(received - said.age),
        evaluateTriggers: said.age <= 15 * MINUTE,
      })
      return { fact, isHeard: true }
    },
  }))
}

const trackNow = track(fc.constantFrom(0, 0, 0, 5 * MINUTE, 15 * MINUTE, -4 * MINUTE))
const trackLate = track(fc.constantFrom(15 * MINUTE + 1, 90 * MINUTE, 48 * 60 * MINUTE))

/** The gateway's word on an offer, however late; most often on the last. An offer that no answer follows was lost. */
const confirm = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: nth }).map(
  (back): Saying => ({
    text: `confirm(${back})`,
    says: ({ offers }) => {
      const offer = offers.at(-1 - (back % Math.max(1, offers.length)))
      return offer && { fact: visitAnswered(offer), isHeard: false }
    },
  }),
)

/** An answer to an offer, most often by the user who has it, and seldom to another form. */
const answer = fc
  .record({
    back: fc.constantFrom(0, 0, 0, 1, 2),
    status: fc.constantFrom('partial' as const, 'partial' as const, 'finished' as const, 'dismissed' as const),
    by: fc.constantFrom(undefined, undefined, undefined, 'ada', 'bob'),
    isEmpty: fc.boolean(),
    keyed: fc.boolean(),
    skew,
  })
  .map(
    ({ back, status, by, isEmpty, keyed, ...said }): Saying => ({
      text: `answer(${back} ${status} ${by ?? ''}${isEmpty ? ' empty' : ''})`,
      says: ({ offers, now }) => {
        const offer = offers.at(-1 - (back % Math.max(1, offers.length)))
        if (!offer) return undefined
        const { queuedId: offerId, formId, userId } = offer
        const whose = by === undefined ? { userId } : { userName: by }
        const received = at(now - said.skew)
        const how = { status, keyed, received, ...(isEmpty && { answers: {} }) }
        return { fact: answerGiven({ offerId, formId, ...whose, ...how }), isHeard: false }
      },
    }),
  )

/** The ledger holds a record's id for two days after it was received. No gateway sends a record again as late as that. */
function isForgotten({ received }: UserFact, now: number): boolean {
  return START + now - Date.parse(received) > 48 * 60 * MINUTE
}

/** A record that comes again: as it was, or, of a request with a key, as a later try of the caller's. */
const again = fc.record({ back: nth, isRetry: fc.boolean() }).map(
  ({ back, isRetry }): Saying => ({
    text: `again(${back}${isRetry ? ' retried' : ''})`,
    says: ({ sent, now }) => {
      const before = sent.at(-1 - (back % Math.max(1, sent.length)))
      if (!before || !isRequestFact(before.fact) || !before.fact.keyed) return before
      if (!isRetry) return isForgotten(before.fact, now) ? undefined : before
      return { ...before, fact: { ...before.fact, received: at(now) } satisfies UserFact }
    },
  }),
)

const saying = fc.oneof(identify, trackNow, trackNow, trackLate, visit, visit, confirm, answer, again)

const times = [1, 10, 20, 30, 30, 60, 120, 600, 600, 3_600, 31 * 60, 130 * 60, 25 * 3_600].map(
  (seconds) => seconds * SECOND,
)
const passes = fc.constantFrom(...times).map((ms) =>
  command(`pass(${ms / SECOND} s)`, async (story) => {
    story.now += ms
  }),
)

/** The evaluator's clock: three of its seconds, as an offer of a form that is gone takes two to be cancelled. */
const ticks = fc.constant(
  command('tick', async (story, evaluator) => {
    for (let second = 0; second < 3; second++) {
      story.model.tick(START + story.now)
      await evaluator.tick(story.now)
    }
  }),
)

const applies = changes.map((change) => {
  let text = 'apply'
  const applied = command(text, async (story, evaluator) => {
    const project: ProjectConfig = change(story.model.project)
    text = `apply(${JSON.stringify(project.forms)})`
    story.model.project = project
    evaluator.apply(project)
  })
  return { ...applied, toString: () => text }
})

/** Another process takes over and gets folded records again: they change nothing. */
const restarts = fc.nat({ max: 5 }).map((records) =>
  command(`restart(${records})`, async (story, evaluator) => {
    expectReplies(story, await evaluator.restart(records), [])
  }),
)

const alone = (one: fc.Arbitrary<Saying>) => one.map((only) => sends([only]))

export const queueCommands: fc.Arbitrary<QueueCommand>[] = [
  alone(identify),
  alone(trackNow),
  alone(trackNow),
  alone(trackLate),
  alone(visit),
  alone(visit),
  alone(confirm),
  alone(answer),
  alone(again),
  fc.array(saying, { minLength: 2, maxLength: 4 }).map(sends),
  applies,
  passes,
  passes,
  ticks,
  restarts,
]
