import net from 'node:net'
import tls from 'node:tls'
import { checkAddress, type Network } from './networks.ts'
import { createNameResolver, type ResolveName } from './resolve-name.ts'

/** Includes the resolution of the name and the TLS handshake, ms. An attempt ends before. */
const CONNECT_WITHIN_MS = 15_000

/** An address that has not answered is given up for the next one, ms. A far host may take a second; Node's default is a quarter of one. */
const NEXT_ADDRESS_AFTER_MS = 3_000

/** No address of the endpoint is allowed. Nothing was sent. */
export class AddressBlockedError extends Error {
  override readonly name = 'AddressBlockedError'
  readonly code = 'ADDRESS_BLOCKED'
  readonly retryable = false
}

export interface ConnectorParts {
  /** Networks that are allowed beside public addresses (`WEBHOOK_ALLOWED_NETWORKS`). */
  readonly networks: readonly Network[]
  /** http is allowed, to {@link networks} only. */
  readonly isHttpAllowed: boolean
  /** Default: asks servers of names, then the system. */
  readonly resolve?: ResolveName
  /** Connects to the first of these addresses that answers. Default: with `node:net`. */
  readonly connect?: (addresses: readonly string[], port: number) => net.Socket
  /** Certificates of authorities, in addition to those of Node. */
  readonly ca?: string
}

export interface Target {
  /** `https:` or `http:`. */
  readonly protocol: string
  /** A name or an address, without brackets. */
  readonly hostname: string
  readonly port: number
}

export type Connector = ReturnType<typeof createConnector>

/**
 * Creates the only way to an endpoint. It resolves the name once for each connection, connects to the addresses that are allowed, and to
 * no others: another answer of the resolver has no effect. TLS verifies the name. Rejects with an {@link AddressBlockedError} if none is allowed.
 */
export function createConnector({
  networks,
  isHttpAllowed,
  resolve = createNameResolver(),
  connect = connectToFirst,
  ca,
}: ConnectorParts) {
  const resolveOnce = resolvingTogether(resolve)
  const trusted = ca === undefined ? {} : { ca: [...tls.rootCertificates, ca] }

  async function connectTo({ protocol, hostname, port }: Target): Promise<net.Socket> {
    const isPlain = protocol === 'http:'
    if (isPlain && !isHttpAllowed) throw new AddressBlockedError('The address must be https')
    const addresses = net.isIP(hostname) ? [hostname] : await resolveOnce(hostname)
    const verdicts = addresses.map((one) => checkAddress(one, { networks, isPublicAllowed: !isPlain }))
    const allowed = addresses.filter((_, at) => verdicts[at]?.outcome === 'allowed')
    if (allowed.length === 0) throw new AddressBlockedError(`The address is not allowed: ${reasonOf(verdicts)}`)
    const socket = connect(allowed, port)
    await becomesReady(socket, 'connect')
    if (isPlain) return socket
    // The handle of a socket may change until it is connected, so TLS begins afterwards.
    socket.on('error', () => {})
    const secure = tls.connect({
      ...trusted,
      socket,
      host: hostname,
      ...serverName(hostname),
      // Whatever NODE_TLS_REJECT_UNAUTHORIZED says.
      rejectUnauthorized: true,
    })
    await becomesReady(secure, 'secureConnect')
    return secure
  }

  return { connectTo }
}

function reasonOf(verdicts: readonly ReturnType<typeof checkAddress>[]): string {
  const reasons = verdicts.flatMap((verdict) => (verdict.outcome === 'blocked' ? verdict.because : []))
  return [...new Set(reasons)].join(', ') || 'none was found'
}

/** A name in TLS has no trailing dot, and an address is none. */
function serverName(hostname: string): { readonly servername: string } {
  return { servername: net.isIP(hostname) ? '' : hostname.replace(/\.$/, '') }
}

function connectToFirst(addresses: readonly string[], port: number): net.Socket {
  const found = addresses.map((address) => ({ address, family: net.isIP(address) }))
  return net.connect({
    // An address here would be the only one that is tried.
    host: 'checked-addresses',
    port,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    lookup: (_host, _options, done) => done(null, found),
  })
}

/** Destroys a socket that does not become ready in time, or that fails. */
async function becomesReady(socket: net.Socket, event: 'connect' | 'secureConnect'): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(() => socket.destroy(timeoutError()), CONNECT_WITHIN_MS)
  const onClose = () => reject(closedError())
  socket.once(event, resolve).once('error', reject).once('close', onClose)
  try {
    await promise
  } catch (error) {
    socket.on('error', () => {}).destroy()
    throw error
  } finally {
    clearTimeout(timer)
    socket.off(event, resolve).off('error', reject).off('close', onClose)
  }
}

function timeoutError(): Error {
  return Object.assign(new Error('The endpoint does not answer'), { code: 'ETIMEDOUT' })
}

function closedError(): Error {
  return Object.assign(new Error('The connection was closed'), { code: 'ECONNRESET' })
}

/** Connections that are opened at the same time share a resolution. */
function resolvingTogether(resolve: ResolveName): ResolveName {
  const running = new Map<string, Promise<readonly string[]>>()
  return (hostname) => {
    const shared = running.get(hostname) ?? resolve(hostname).finally(() => running.delete(hostname))
    running.set(hostname, shared)
    return shared
  }
}
