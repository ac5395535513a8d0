import {
  type BrokerResponse,
  createFaultProxy,
  fetchApiKey,
  metadataApiKey,
  produceApiKey,
  type ResponseFault,
} from '@nextvisit/testing'
import { onTestFinished } from 'vitest'

import type { LogConnection } from '../src/connect/log-connection.ts'
import { encodedFetchResponse, int32 } from './encoded-batch.ts'
import { givenConnection } from './given-topic.ts'

/** Ids of the two brokers. */
type NodeId = 0 | 1

export interface TwoBrokers {
  readonly connection: LogConnection
  /** Metadata names these leaders from now on. The index is the partition. */
  readonly moveLeaders: (leaders: readonly NodeId[]) => void
  /** Sets the function that decides what happens to each broker's responses to produce requests. */
  readonly onProduce: (decide: Decide) => void
  /** Sets that function for responses to fetches. */
  readonly onFetch: (decide: Decide) => void
  /** Refuses or accepts connections to this broker. */
  readonly setLink: (nodeId: NodeId, state: 'open' | 'refuse') => void
}

type Decide = (nodeId: NodeId, frame: Buffer) => ResponseFault

/**
 * Starts two fault proxies before the one real broker. Metadata lists both as brokers and each partition's leader. Both write to
 * the same log, like a partition's old and new leader.
 */
export async function givenTwoBrokers(leadersAtFirst: readonly NodeId[]): Promise<TwoBrokers> {
  const real = givenConnection()
  const [host = '', port] = (real.brokers[0] ?? '').split(':')
  const proxies = [0, 1].map(() => createFaultProxy({ host, port: Number(port) }))
  await Promise.all(proxies.map((proxy) => proxy.start()))
  onTestFinished(async () => void (await Promise.all(proxies.map((proxy) => proxy.stop()))))
  const addresses = proxies.map(({ addressFor }) => addressFor())
  let leaders = leadersAtFirst
  let decideOn: Readonly<Record<number, Decide>> = {}

  const onResponse = (nodeId: NodeId, { apiKey, frame }: BrokerResponse): ResponseFault => {
    if (apiKey === metadataApiKey) return { replaceBy: metadataWith(frame, addresses, leaders) }
    return decideOn[apiKey]?.(nodeId, frame) ?? 'pass'
  }
  proxies.forEach((proxy, index) => proxy.onResponse((response) => onResponse(index === 0 ? 0 : 1, response)))

  return {
    connection: { ...real, brokers: addresses.map((address) => `${address.host}:${address.port}`) },
    moveLeaders: (next) => {
      leaders = next
    },
    onProduce: (decide) => {
      decideOn = { ...decideOn, [produceApiKey]: decide }
    },
    onFetch: (decide) => {
      decideOn = { ...decideOn, [fetchApiKey]: decide }
    },
    setLink: (nodeId, state) => proxies[nodeId]?.setLink(state),
  }
}

/** Returns a response to a produce request (version 7) in which the broker refuses every partition, as it does not lead it. */
export function notLeader(frame: Buffer): ResponseFault {
  const refused = Buffer.from(frame)
  const cursor = createCursor(refused, 8)
  cursor.each(() => {
    cursor.skipString()
    cursor.each(() => {
      cursor.skip(4)
      cursor.writeInt16(NOT_LEADER)
      cursor.skip(24)
    })
  })
  return { replaceBy: refused }
}

/** Returns a response to a fetch of this topic in which the broker refuses these partitions, as it does not lead them. */
export function notLeaderOf(topic: string, partitions: readonly number[], frame: Buffer): ResponseFault {
  const refused = partitions.map((partition) => ({
    partition,
    errorCode: NOT_LEADER,
    highWatermark: -1n,
    batches: int32(0),
  }))
  const body = Buffer.concat([frame.subarray(4, 8), encodedFetchResponse(topic, refused)])
  return { replaceBy: Buffer.concat([int32(body.length), body]) }
}

/** Returns a fetch response (version 11) in which the broker refuses one partition; undefined if it was not fetched. */
export function withRefusal(frame: Buffer, partition: number, errorCode: number): ResponseFault | undefined {
  const refused = Buffer.from(frame)
  const cursor = createCursor(refused, 18)
  let isFetched = false
  cursor.each(() => {
    cursor.skipString()
    cursor.each(() => {
      if (cursor.readInt32() === partition) {
        isFetched = true
        cursor.writeInt16(errorCode)
      } else {
        cursor.skip(2)
      }
      cursor.skip(24)
      cursor.each(() => cursor.skip(16))
      cursor.skip(4)
      cursor.skip(cursor.readInt32())
    })
  })
  return isFetched ? { replaceBy: refused } : undefined
}

const NOT_LEADER = 6

/** Returns a metadata response (version 5 or 6) with these brokers and leaders. The first broker is the controller. */
function metadataWith(
  frame: Buffer,
  brokers: readonly { readonly host: string; readonly port: number }[],
  leaders: readonly number[],
): Buffer {
  const rewritten = Buffer.from(frame)
  const cursor = createCursor(rewritten, 12)
  cursor.each(() => {
    cursor.skip(4)
    cursor.skipString()
    cursor.skip(4)
    cursor.skipString()
  })
  const afterBrokers = cursor.position()
  cursor.skipString()
  cursor.writeInt32(0)
  cursor.each(() => {
    cursor.skip(2)
    cursor.skipString()
    cursor.skip(1)
    cursor.each(() => {
      cursor.skip(2)
      cursor.writeInt32(leaders[cursor.readInt32()] ?? 0)
      for (let list = 0; list < 3; list += 1) cursor.each(() => cursor.skip(4))
    })
  })
  const named = brokers.map(({ host, port }, nodeId) => {
    const hostLength = Buffer.from([0, host.length])
    return Buffer.concat([int32(nodeId), hostLength, Buffer.from(host), int32(port), Buffer.from([255, 255])])
  })
  const body = [rewritten.subarray(4, 12), int32(brokers.length), ...named, rewritten.subarray(afterBrokers)]
  const bytes = Buffer.concat(body)
  return Buffer.concat([int32(bytes.length), bytes])
}

/** Walks through a frame, from a position on. A string is its length (2 bytes, negative for null) and its bytes. */
function createCursor(frame: Buffer, from: number) {
  let at = from
  const skip = (bytes: number): void => {
    at += bytes
  }
  const readInt32 = (): number => {
    skip(4)
    return frame.readInt32BE(at - 4)
  }
  return {
    position: () => at,
    skip,
    readInt32,
    skipString: () => skip(2 + Math.max(0, frame.readInt16BE(at))),
    writeInt16: (value: number): void => {
      at = frame.writeInt16BE(value, at)
    },
    writeInt32: (value: number): void => {
      at = frame.writeInt32BE(value, at)
    },
    /** Calls `visit` for each entry of an array: their number (4 bytes), then the entries. */
    each: (visit: () => void): void => {
      for (let left = readInt32(); left > 0; left -= 1) visit()
    },
  }
}
