import { type FaultProxy, produceApiKey, type ResponseFault } from '@nextvisit/testing'
import type { Fault } from './fault.ts'
import type { Random } from './seeded-random.ts'

const LASTS_MS = 4_000

type Counter = keyof ReturnType<FaultProxy['struck']>

/** A fault that changes some of the broker's responses. */
function strikes(
  counter: Counter,
  decide: (apiKey: number, bytes: number, random: Random) => ResponseFault,
): Fault['inject'] {
  return async ({ stack: { proxy }, random }) => {
    const before = proxy.struck()[counter]
    proxy.onResponse(({ apiKey, bytes }) => decide(apiKey, bytes, random))
    return {
      lastsMs: LASTS_MS,
      heal: async () => proxy.onResponse(() => 'pass'),
      witness: async () => {
        const struck = proxy.struck()[counter] - before
        return struck > 0 ? `${struck} responses ${counter}` : undefined
      },
    }
  }
}

/** Drops responses of produce requests, whose records are written. */
const loseProduceResponses = strikes('lost', (apiKey, _bytes, random) =>
  apiKey === produceApiKey && random.next() < 0.2 ? 'lose' : 'pass',
)

const cutMidFrame = strikes('cut', (_apiKey, bytes, random) =>
  bytes > 8 && random.next() < 0.02 ? { cutAfterBytes: random.between(1, bytes - 1) } : 'pass',
)

/** Keeps connections open, but passes no data. */
const blackHole: Fault['inject'] = async ({ stack: { proxy }, client }) => {
  proxy.setLink('black-hole')
  const refusedBefore = client.calls().filter(({ status }) => status === 503).length
  return {
    lastsMs: LASTS_MS,
    heal: async () => {
      proxy.setLink('open')
      proxy.cutAll()
    },
    witness: async () => {
      const refused = client.calls().filter(({ status }) => status === 503).length - refusedBefore
      return refused > 0 ? `${refused} requests were refused with 503` : undefined
    },
  }
}

const refuse: Fault['inject'] = async ({ stack: { proxy } }) => {
  const before = proxy.struck().refused
  proxy.setLink('refuse')
  return {
    lastsMs: LASTS_MS,
    heal: async () => proxy.setLink('open'),
    witness: async () => {
      const refused = proxy.struck().refused - before
      return refused > 0 ? `${refused} connections refused` : undefined
    },
  }
}

export const networkFaults: readonly Fault[] = [
  {
    name: 'lose produce responses',
    family: 'Kafka network',
    mayRefuse: true,
    isShort: true,
    inject: loseProduceResponses,
  },
  { name: 'cut connections mid-frame', family: 'Kafka network', mayRefuse: true, inject: cutMidFrame },
  { name: 'black hole before Kafka', family: 'Kafka network', mayRefuse: true, inject: blackHole },
  { name: 'refuse connections to Kafka', family: 'Kafka network', mayRefuse: true, inject: refuse },
]
