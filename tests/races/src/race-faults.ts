import { produceApiKey } from '@nextvisit/testing'
import type { RaceStack } from './race-stack.ts'

/** What happens in the middle of a race. */
export interface RaceFault {
  readonly id: string
  readonly what: string
  /** `first answers`: while most requests are under way. `limits reached`: once all room is taken. `start`: lies in wait. */
  readonly when: 'start' | 'first answers' | 'limits reached'
  readonly strike: (stack: RaceStack) => Promise<void> | void
  readonly heal?: (stack: RaceStack) => Promise<void> | void
  /** Changes where the fault really struck; needed where nothing else shows it. */
  readonly witness?: (stack: RaceStack) => number | undefined
  /** What that gateway had counted is gone. */
  readonly restartsGateway?: true
  /** Limits are not checked meanwhile; the records say so. */
  readonly leavesUnchecked?: true
}

const LOST_RESPONSES = 3
const pidOf =
  (name: string) =>
  ({ processes }: RaceStack) =>
    processes().get(name)?.pid

export const FAULTS: readonly RaceFault[] = [
  {
    id: 'gateway-killed',
    what: 'gateway killed between ack and answer',
    when: 'start',
    strike: ({ proxy, kill }) =>
      proxy.onResponse(({ apiKey }) => {
        if (apiKey !== produceApiKey) return 'pass'
        kill('gateway-2', 'SIGKILL')
        return 'lose'
      }),
    heal: ({ proxy }) => proxy.onResponse(() => 'pass'),
    witness: pidOf('gateway-2'),
    restartsGateway: true,
  },
  {
    id: 'lost-responses',
    what: 'produce responses lost',
    when: 'start',
    strike: ({ proxy }) => {
      const before = proxy.struck().lost
      proxy.onResponse(({ apiKey }) =>
        apiKey === produceApiKey && proxy.struck().lost - before < LOST_RESPONSES ? 'lose' : 'pass',
      )
    },
    heal: ({ proxy }) => proxy.onResponse(() => 'pass'),
    witness: ({ proxy }) => proxy.struck().lost,
  },
  { id: 'none', what: '', when: 'first answers', strike: () => undefined },
  {
    id: 'redis-emptied',
    what: 'Redis emptied',
    when: 'first answers',
    strike: async ({ redis }) => void (await redis.flushall()),
  },
  {
    id: 'redis-restarted',
    what: 'Redis killed and restarted',
    when: 'first answers',
    strike: ({ kill }) => kill('redis', 'SIGKILL'),
    witness: pidOf('redis'),
  },
  {
    id: 'redis-replaced',
    what: 'Redis replaced by an empty one',
    when: 'first answers',
    // What it kept on disk is empty then, too.
    strike: async ({ redis, kill }) => {
      await redis.flushall()
      kill('redis', 'SIGKILL')
    },
    witness: pidOf('redis'),
  },
  {
    id: 'owners-killed',
    what: 'all owners killed',
    when: 'limits reached',
    strike: ({ signalOwners }) => signalOwners('SIGKILL'),
    witness: pidOf('metering-2'),
    leavesUnchecked: true,
  },
  {
    id: 'owners-frozen',
    what: 'all owners frozen',
    when: 'limits reached',
    strike: ({ signalOwners }) => signalOwners('SIGSTOP'),
    heal: ({ signalOwners }) => signalOwners('SIGCONT'),
    leavesUnchecked: true,
  },
]
