import net from 'node:net'
import { onTestFinished } from 'vitest'

/** Starts a proxy in front of the real Redis. `freeze` holds all bytes until `thaw`, like a stopped process. */
export async function startRedisProxy(redisUrl: string) {
  const { hostname, port } = new URL(redisUrl)
  const sockets = new Set<net.Socket>()
  let isFrozen = false
  const server = net.createServer((downstream) => {
    const upstream = net.connect(Number(port), hostname)
    downstream.pipe(upstream).pipe(downstream)
    for (const socket of [downstream, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        downstream.destroy()
        upstream.destroy()
      })
      if (isFrozen) socket.pause()
    }
  })
  const listen = (at: number) => new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  await listen(0)
  const address = server.address()
  const ownPort = typeof address === 'object' && address ? address.port : 0
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  onTestFinished(close)
  return {
    url: `redis://127.0.0.1:${ownPort}`,
    freeze: () => {
      isFrozen = true
      for (const socket of sockets) socket.pause()
    },
    thaw: () => {
      isFrozen = false
      for (const socket of sockets) socket.resume()
    },
    close,
    reopen: () => listen(ownPort),
  }
}
