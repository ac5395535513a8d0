/** A program that listens on loopback, tells its port, and accepts no connection for some time once it gets a message. */
import { createServer, type AddressInfo } from 'node:net'

const BUSY_MS = 600

const server = createServer((socket) => socket.end())
// The system accepts two connections in its place. More must try again, which they do after a second.
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  process.send?.((server.address() as AddressInfo).port)
})
process.once('message', () => {
  process.send?.('busy')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS)
})
process.once('disconnect', () => process.exit())
