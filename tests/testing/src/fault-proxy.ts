import { once } from 'node:events'
import net from 'node:net'

/**
 * A fault of a broker's response. `cutAfterBytes`: only these bytes arrive, then the connection ends. `replaceBy`: this
 * frame arrives instead.
 */
export type ResponseFault = 'pass' | 'lose' | { readonly cutAfterBytes: number } | { readonly replaceBy: Buffer }

export interface BrokerResponse {
  /** Kafka's number for the kind of request, for example `produceApiKey`. */
  readonly apiKey: number
  readonly bytes: number
  readonly frame: Buffer
}

type LinkState = 'open' | 'held' | 'black-hole' | 'refuse'

export interface FaultProxy {
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
  /** The proxy's address. As a connection's `addressFor`, it routes every broker through the proxy. */
  readonly addressFor: () => { readonly host: string; readonly port: number }
  /** Sets the function that decides the fault of each later response. */
  readonly onResponse: (decide: (response: BrokerResponse) => ResponseFault) => void
  /**
   * Sets the state of the link. `black-hole`: connections are accepted, but no data passes in either direction.
   * `refuse`: open and new connections are closed. A black-holed connection stays black-holed. `held`: requests wait in the proxy
   * until another state is set, and arrive even if their client has closed the connection.
   */
  readonly setLink: (state: LinkState) => void
  /** Closes all connections; new ones are accepted. */
  readonly cutAll: () => void
  /** Number of actual occurrences of each fault. */
  readonly struck: () => Readonly<Record<'lost' | 'cut' | 'refused', number>>
}

export const produceApiKey = 0
export const fetchApiKey = 1
export const listOffsetsApiKey = 2
export const metadataApiKey = 3
export const heartbeatApiKey = 12

interface FaultProxyOptions {
  /** Makes metadata responses name the proxy as the broker, for clients in other processes, which cannot use `addressFor`. */
  readonly rewritesMetadata?: boolean
}

interface Link {
  readonly client: net.Socket
  readonly broker: net.Socket
  /** The API keys of open requests, by correlation id. */
  readonly apiKeys: Map<number, number>
  readonly held: Buffer[]
  isBlackHole: boolean
}

/** Starts a proxy before the first of these brokers and returns a connection through it. The caller stops the proxy. */
export async function startFaultProxy<Connection extends { readonly brokers: readonly string[] }>(
  direct: Connection,
): Promise<{ readonly proxy: FaultProxy; readonly connection: Connection & Pick<FaultProxy, 'addressFor'> }> {
  const [host = '', port] = (direct.brokers[0] ?? '').split(':')
  const proxy = createFaultProxy({ host, port: Number(port) })
  await proxy.start()
  return { proxy, connection: { ...direct, addressFor: proxy.addressFor } }
}

/**
 * Creates a proxy between a Kafka client and its broker. It parses just enough of the protocol to fail single responses. Each
 * frame starts with its length (4 bytes). A request continues with the API key (2), its version (2) and the correlation id
 * (4); a response continues with the correlation id.
 */
export function createFaultProxy(
  broker: { readonly host: string; readonly port: number },
  { rewritesMetadata = false }: FaultProxyOptions = {},
): FaultProxy {
  const links = new Set<Link>()
  const struck = { lost: 0, cut: 0, refused: 0 }
  let decide = passAll
  let linkState: LinkState = 'open'

  const server = net.createServer((client) => {
    if (linkState === 'refuse') {
      struck.refused += 1
      client.on('error', () => {}).destroy()
      return
    }
    const link: Link = {
      client,
      broker: net.connect(broker),
      apiKeys: new Map(),
      held: [],
      isBlackHole: linkState === 'black-hole',
    }
    links.add(link)
    const onRequest = createFrameSplitter((frame) => passRequest(link, frame))
    const onResponse = createFrameSplitter((frame) => passResponse(link, frame))
    client.on('data', (bytes) => link.isBlackHole || onRequest(bytes))
    link.broker.on('data', (bytes) => link.isBlackHole || onResponse(bytes))
    for (const socket of [client, link.broker]) socket.on('error', () => {}).on('close', () => close(link))
  })

  const passRequest = (link: Link, frame: Buffer): void => {
    if (linkState === 'held') {
      link.held.push(frame)
      return
    }
    link.apiKeys.set(frame.readInt32BE(8), frame.readInt16BE(4))
    link.broker.write(frame)
  }

  const release = (link: Link): void => {
    for (const frame of link.held.splice(0)) passRequest(link, frame)
    if (link.client.destroyed) link.broker.end(() => close(link))
  }

  const passResponse = (link: Link, frame: Buffer): void => {
    const correlationId = frame.readInt32BE(4)
    const apiKey = link.apiKeys.get(correlationId) ?? -1
    link.apiKeys.delete(correlationId)
    const fault = decide({ apiKey, bytes: frame.length, frame })
    if (rewritesMetadata && apiKey === metadataApiKey) replacePort(frame, broker, addressFor().port)
    if (fault === 'pass') link.client.write(frame)
    if (fault === 'lose') struck.lost += 1
    if (typeof fault === 'object' && 'replaceBy' in fault) link.client.write(fault.replaceBy)
    else if (typeof fault === 'object') {
      struck.cut += 1
      link.isBlackHole = true
      link.client.end(frame.subarray(0, Math.min(fault.cutAfterBytes, frame.length - 1)))
    }
  }

  const close = (link: Link): void => {
    if (link.isBlackHole && linkState === 'black-hole') return // the other side must not notice
    if (link.held.length > 0) return
    links.delete(link)
    link.client.destroy()
    link.broker.destroy()
  }

  const cutAll = (): void => {
    for (const { client, broker: toBroker } of links) {
      client.destroy()
      toBroker.destroy()
    }
    links.clear()
  }

  const addressFor = (): { readonly host: string; readonly port: number } => {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('Start the fault proxy first')
    return { host: '127.0.0.1', port: address.port }
  }

  return {
    start: async () => {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    },
    stop: async () => {
      cutAll()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
    addressFor,
    onResponse: (next) => {
      decide = next
    },
    setLink: (state) => {
      linkState = state
      if (state !== 'held') for (const link of links) release(link)
      if (state === 'black-hole') for (const link of links) link.isBlackHole = true
      if (state === 'refuse') cutAll()
    },
    cutAll,
    struck: () => ({ ...struck }),
  }
}

function passAll(_response: BrokerResponse): ResponseFault {
  return 'pass'
}

/** Replaces the broker's port in the frame. It searches for the host's length (2 bytes), the host and the port (4 bytes). */
function replacePort(frame: Buffer, broker: { readonly host: string; readonly port: number }, port: number): void {
  const named = Buffer.alloc(2 + broker.host.length + 4)
  named.writeInt16BE(broker.host.length, 0)
  named.write(broker.host, 2)
  named.writeInt32BE(broker.port, 2 + broker.host.length)
  for (let at = frame.indexOf(named); at !== -1; at = frame.indexOf(named, at + named.length))
    frame.writeInt32BE(port, at + 2 + broker.host.length)
}

/** Collects bytes and emits whole frames, including their length. */
function createFrameSplitter(onFrame: (frame: Buffer) => void): (bytes: Buffer) => void {
  let buffered: Buffer = Buffer.alloc(0)
  return (bytes) => {
    buffered = buffered.length === 0 ? bytes : Buffer.concat([buffered, bytes])
    while (buffered.length >= 4 && buffered.length >= 4 + buffered.readInt32BE(0)) {
      const frameBytes = 4 + buffered.readInt32BE(0)
      onFrame(buffered.subarray(0, frameBytes))
      buffered = buffered.subarray(frameBytes)
    }
  }
}
