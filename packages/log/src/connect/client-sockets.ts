import net from 'node:net'
import tls from 'node:tls'

import type { ISocketFactory } from 'kafkajs'

import type { LogConnection } from './log-connection.ts'

/**
 * The sockets of one kafkajs client. kafkajs has no way to give up: it retries an abandoned request, and a disconnect
 * waits for answers. Whoever holds the sockets can end a client for good.
 */
export interface ClientSockets {
  readonly open: ISocketFactory
  /** Destroys every socket and refuses new ones; nothing of this client reaches a broker afterwards. */
  readonly cutOff: (reason: Error) => void
  readonly isCutOff: () => boolean
}

const keepAliveAfterMs = 30_000

/** `onClose` is called for each socket that closes before the client is cut off. */
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
    socket.setKeepAlive(true, keepAliveAfterMs)
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
