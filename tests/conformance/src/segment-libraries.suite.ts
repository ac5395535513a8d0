import { setTimeout as sleep } from 'node:timers/promises'
import RudderAnalytics from '@rudderstack/rudder-sdk-node'
import { Analytics } from '@segment/analytics-node'
import { eventually, keyNamed, readUserEvents } from '@nextvisit/testing/black-box'
import { describe, expect, it } from 'vitest'
import { callerOf } from './call.ts'
import { product } from './product.ts'

const PROJECT = 'libraries'
const KEY = 'LIBRARIES_ADMIN_P'
const USERS = 10
const EVENTS_PER_ROUND = 90
const WITHIN_MS = 90_000
/** An event name that the gateway refuses; every ninth event has it. */
const TOO_LONG = 'x'.repeat(101)
const isRefused = (step: number) => step % 9 === 8

interface Message {
  readonly userId: string
  readonly event: string
  readonly properties: { readonly step: number }
}

/** A library of Segment's API, unchanged except for its host. */
interface Library {
  /** Tracks an event. Calls `onAnswered` once the library has given up or reports the delivery. */
  readonly track: (message: Message, onAnswered: (failure?: unknown) => void) => void
  readonly flush: () => Promise<void>
}

function givenSegment(): Library {
  const analytics = new Analytics({ writeKey: keyNamed(KEY), host: product().gatewayUrl })
  return {
    track: (message, onAnswered) => analytics.track(message, onAnswered),
    flush: () => analytics.flush(),
  }
}

function givenRudderStack(): Library {
  // Without an error handler, the library rejects a promise that cannot be handled.
  const analytics = new RudderAnalytics(keyNamed(KEY), {
    dataPlaneUrl: product().gatewayUrl,
    errorHandler: () => undefined,
    logLevel: 'none',
  })
  return {
    track: (message, onAnswered) => void analytics.track(message, onAnswered),
    flush: () => analytics.flush(),
  }
}

/** Creates a sender that records the callbacks of a library. */
function createSender(name: string, library: Library) {
  const delivered: number[] = []
  let sent = 0
  let answered = 0
  const flushed = async () => {
    await library.flush()
    return sent - answered
  }
  const userOf = (step: number) => `${name}-${step % USERS}`

  return {
    name,
    delivered: () => delivered,
    sent: () => sent,
    sendRound() {
      for (let i = 0; i < EVENTS_PER_ROUND; i += 1) {
        const step = sent++
        const event = isRefused(step) ? TOO_LONG : 'Step'
        library.track({ userId: userOf(step), event, properties: { step } }, (failure) => {
          answered += 1
          if (!failure) delivered.push(step)
        })
      }
    },
    /** Resolves once every callback was called. */
    async settled() {
      const open = await eventually(flushed, (count) => count === 0, WITHIN_MS)
      expect(open, `${name}: callbacks that were not called`).toBe(0)
    },
  }
}

/** Reads the record ids of each step of each sender. */
async function loggedIds(): Promise<ReadonlyMap<string, ReadonlySet<unknown>>> {
  const ids = new Map<string, Set<unknown>>()
  for (const { value } of await readUserEvents(product())) {
    if (value['type'] !== 'EventTracked' || value['project'] !== PROJECT) continue
    const { id, userName, properties } = value as { id: string; userName: string; properties: { step: number } }
    const name = `${userName.split('-')[0]} ${properties.step}`
    ids.set(name, (ids.get(name) ?? new Set()).add(id))
  }
  return ids
}

/** Tests decisions.md, Segment's API: a delivered message is in the log once, despite failures of the gateway and Kafka. */
export function describeSegmentLibraries(): void {
  describe('Segment’s libraries, unchanged but for the host', () => {
    it('deliver each event once while the gateway is killed and Kafka is stopped; a refused event does not affect others', {
      timeout: 180_000,
    }, async () => {
      const senders = [createSender('segment', givenSegment()), createSender('rudderstack', givenRudderStack())]
      const settled = () => Promise.all(senders.map((sender) => sender.settled()))
      const sendRounds = (count: number) => {
        for (let round = 0; round < count; round += 1) for (const sender of senders) sender.sendRound()
      }
      const { identify } = callerOf(KEY)
      const isBack = () => identify({ userName: 'nobody' }).catch(() => undefined)

      sendRounds(1)
      await settled()
      for (const { name, delivered } of senders)
        expect(delivered(), `${name}: delivered`).toHaveLength(EVENTS_PER_ROUND)

      sendRounds(2)
      await sleep(20)
      product().kill('gateway', 'SIGKILL')
      sendRounds(1)
      await eventually(isBack, (answer) => answer?.status === 200, WITHIN_MS)

      product().kill('kafka', 'SIGSTOP')
      sendRounds(2)
      // The gateway answers 503 even for records that Kafka writes later.
      await eventually(isBack, (answer) => answer?.status === 503, WITHIN_MS)
      product().kill('kafka', 'SIGCONT')
      await eventually(isBack, (answer) => answer?.status === 200, WITHIN_MS)
      await settled()

      const deliveredBefore = senders.map(({ delivered }) => delivered().length)
      sendRounds(1)
      await settled()
      expect(senders.map(({ delivered }) => delivered().length)).toEqual(
        deliveredBefore.map((count) => count + EVENTS_PER_ROUND),
      )

      const ids = await loggedIds()
      for (const { name, delivered, sent } of senders) {
        const recorded = (step: number) => ids.get(`${name} ${step}`)?.size ?? 0
        const steps = Array.from({ length: sent() }, (_, step) => step)
        expect(
          steps.filter((step) => recorded(step) > 1),
          `${name}: recorded twice`,
        ).toEqual([])
        expect(
          steps.filter((step) => isRefused(step) && recorded(step) > 0),
          `${name}: refused`,
        ).toEqual([])
        const lost = delivered().filter((step) => !isRefused(step) && recorded(step) === 0)
        expect(lost, `${name}: delivered and not in the log`).toEqual([])
      }
    })
  })
}
