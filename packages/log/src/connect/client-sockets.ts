import net from 'node:net'
import tls from 'node:tls'

import type { ISocketFactory } from 'kafkajs'

import type { LogConnection } from './log-connection.ts'

/**
 * The sockets of one kafkajs client. kafkajs cannot abandon a request: it retries, and a disconnect waits for responses.
 * Destroying the sockets ends a client immediately.
 */
export interface ClientSockets {
  readonly open: ISocketFactory
  /** Destroys every socket and refuses new ones. No later request of this client reaches a broker. */
  readonly cutOff: (reason: Error) => void
  readonly isCutOff: () => boolean
}

const KEEP_ALIVE_AFTER_MS = 30_000

/** Creates the sockets of one client. `onClose` is called for each socket that closes before `cutOff`. */
export function createClientSockets(
  connection: Pick<LogConnection, 'addressFor'>,
  onClose: () => void = () => {},
): ClientSockets {
  const sockets = new Set<net.Socket>()
  let cutOffFor: Error | undefined

  const open: ISocketFactory = ({ host, port, ssl, onConnect }) => {
    if (cutOffFor) throw cutOffFor
    const address = connection.addressFor?.({ host, port }) ?? { host, port }
    const servername = net.isIP(host) ? {} : { servername: host }
    const socket = ssl ? tls.connect({ ...address, ...servername }, onConnect) : net.connect(address, onConnect)
    socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS)
    socket.setNoDelay(true)
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      if (!cutOffFor) onClose()
    })
    return socket
  }

  const cutOff = (reason: Error): void => {
    cutOffFor ??= reason
    for (const socket of sockets) socket.destroy(reason)
  }

  return { open, cutOff, isCutOff: () => cutOffFor !== undefined }
}
