import { fork } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import path from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { HOOKS_TEST } from '../../test/hooks-test-certificate.ts'
import { startReceiver } from '../../test/start-receiver.ts'
import { type ConnectorParts, createConnector } from './connector.ts'
import { LOOPBACK, type Network } from './networks.ts'
import { createEndpointAgent, sendRequest } from './send-request.ts'

const PUBLIC = '203.0.114.7'
const BUSY_LISTENER = path.resolve(import.meta.dirname, '../../test/busy-listener.ts')

interface GivenConnector extends Partial<Omit<ConnectorParts, 'resolve' | 'connect'>> {
  /** Answers of the resolver, the last one again and again. Default: none. */
  readonly answers?: readonly (readonly string[])[]
  /** Where connections really go, whatever the address. Default: they fail. */
  readonly port?: number
}

/** Sends requests through a connector that records each question to the resolver, and each address that it connects to. */
function givenConnector({ answers = [], port, ...parts }: GivenConnector = {}) {
  const asked: string[] = []
  const connectedTo: string[] = []
  const connector = createConnector({
    networks: [],
    isHttpAllowed: true,
    ...parts,
    resolve: async (hostname) => {
      asked.push(hostname)
      return answers[Math.min(asked.length, answers.length) - 1] ?? []
    },
    connect: (addresses) => {
      connectedTo.push(...addresses)
      return port === undefined ? new net.Socket().destroy(new Error('not in a spec')) : net.connect(port, '127.0.0.1')
    },
  })
  const send = async (address: string) => {
    const url = new URL(address)
    const agent = createEndpointAgent(url.protocol, connector)
    onTestFinished(() => agent.destroy())
    return sendRequest({ url, agent, headers: {}, body: '{}', withinMs: 5_000 })
  }
  return { send, asked, connectedTo }
}

describe('the connection to an endpoint', () => {
  it.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.0.0.0x1/',
    'https://0177.0.0.1/',
    'https://127.0.0.1./',
    'https://①②⑦.0.0.1/',
    'https://0.0.0.0/',
    'https://0/',
    'https://[::]/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::127.0.0.1]/',
    'https://[64:ff9b::127.0.0.1]/',
    'https://[2002:7f00:1::]/',
    'https://[::ffff:7f00:1]:8443/',
    'https://hooks.test@127.0.0.1/',
    'https://169.254.169.254/latest/meta-data/',
  ])('is not opened for %s', async (url) => {
    const { send, connectedTo } = givenConnector()
    expect(await send(url)).toMatchObject({ outcome: 'blocked', error: expect.stringMatching(/not allowed: \w+$/) })
    expect(connectedTo).toEqual([])
  })

  it.each(['localhost', 'localhost.', 'LOCALHOST', 'any.localhost', 'inner.test'])(
    'is not opened for the name %s, if it is this machine',
    async (name) => {
      const { send, asked, connectedTo } = givenConnector({ answers: [['127.0.0.1', '::1', '::ffff:127.0.0.1']] })
      expect(await send(`https://${name}/`)).toMatchObject({
        outcome: 'blocked',
        error: 'The address is not allowed: loopback, ipv4Mapped',
      })
      expect([asked, connectedTo]).toEqual([[name.toLowerCase()], []])
    },
  )

  it('reaches nothing on this machine through node:dns, unless loopback is allowed', async () => {
    const { port, countConnections } = await startReceiver()
    const sendTo = async (networks: readonly Network[]) => {
      const url = new URL(`http://localhost:${port}/`)
      const agent = createEndpointAgent(url.protocol, createConnector({ networks, isHttpAllowed: true }))
      onTestFinished(() => agent.destroy())
      return sendRequest({ url, agent, headers: {}, body: '{}' })
    }
    expect(await sendTo([])).toMatchObject({ outcome: 'blocked' })
    expect(countConnections()).toBe(0)
    expect(await sendTo(LOOPBACK)).toMatchObject({ outcome: 'delivered' })
    expect(countConnections()).toBe(1)
  })

  it.each([[['::1', '127.0.0.1']], [['127.0.0.2', '127.0.0.1']], [['127.0.0.1']]])(
    'goes to the first address of %j that answers',
    async (addresses) => {
      const { port } = await startReceiver()
      const { connectTo } = createConnector({ networks: LOOPBACK, isHttpAllowed: true, resolve: async () => addresses })
      const socket = await connectTo({ protocol: 'http:', hostname: 'several.test', port })
      onTestFinished(() => void socket.destroy())
      expect(socket.remoteAddress).toBe('127.0.0.1')
    },
  )

  it('waits for an address that answers late, although there is another one', async () => {
    const child = fork(BUSY_LISTENER, { execArgv: [] })
    onTestFinished(() => void child.kill())
    const [port] = (await once(child, 'message')) as [number]
    child.send('begin')
    await once(child, 'message')
    const others = [1, 2].map(() => net.connect(port, '127.0.0.1').on('error', () => {}))
    await Promise.all(others.map((other) => once(other, 'connect')))
    const addresses = ['127.0.0.1', '127.0.0.2']
    const { connectTo } = createConnector({ networks: LOOPBACK, isHttpAllowed: true, resolve: async () => addresses })
    const socket = await connectTo({ protocol: 'http:', hostname: 'far.test', port })
    onTestFinished(() => void socket.destroy())
    expect(socket.remoteAddress).toBe('127.0.0.1')
  })

  it('goes to the address that was checked, however the resolver answers later', async () => {
    const { send, asked, connectedTo } = givenConnector({ answers: [[PUBLIC], ['127.0.0.1']] })
    expect(await send('https://rebinding.test/')).toMatchObject({ outcome: 'unreachable' })
    expect([asked, connectedTo]).toEqual([['rebinding.test'], [PUBLIC]])

    expect(await send('https://rebinding.test/')).toMatchObject({ outcome: 'blocked' })
    expect(asked).toHaveLength(2)
    expect(connectedTo).toEqual([PUBLIC])
  })

  it('goes to no forbidden address among allowed ones', async () => {
    const { send, connectedTo } = givenConnector({ answers: [['10.0.0.1', PUBLIC, '::1', '2606:4700::1']] })
    await send('https://mixed.test/')
    expect(connectedTo).toEqual([PUBLIC, '2606:4700::1'])
  })

  it('is blocked for a name without an address', async () => {
    const { send, connectedTo } = givenConnector()
    expect(await send('https://nothing.test/')).toMatchObject({ outcome: 'blocked' })
    expect(connectedTo).toEqual([])
  })

  it('resolves a name once for connections that are opened at the same time', async () => {
    const { send, asked } = givenConnector({ answers: [[PUBLIC]] })
    await Promise.all([1, 2, 3].map(() => send('https://busy.test/')))
    expect(asked).toEqual(['busy.test'])
  })

  it('is plain http only where http is allowed, and to allowed networks', async () => {
    const elsewhere = givenConnector({ isHttpAllowed: false, networks: LOOPBACK })
    expect(await elsewhere.send('http://127.0.0.1/')).toMatchObject({
      outcome: 'blocked',
      error: 'The address must be https',
    })
    const local = givenConnector({ networks: LOOPBACK, answers: [[PUBLIC]] })
    expect(await local.send('http://hooks.test/')).toMatchObject({
      outcome: 'blocked',
      error: 'The address is not allowed: public',
    })
    expect([elsewhere.connectedTo, local.connectedTo]).toEqual([[], []])
  })

  it('keeps the name in TLS and in Host', async () => {
    const names: string[] = []
    const receiver = await startReceiver({
      tls: { ...HOOKS_TEST, SNICallback: (name, done) => (names.push(name), done(null)) },
    })
    const { send, connectedTo } = givenConnector({ answers: [[PUBLIC]], port: receiver.port, ca: HOOKS_TEST.cert })
    expect(await send('https://hooks.test./orders?x=1')).toMatchObject({ outcome: 'delivered' })
    expect([names, connectedTo]).toEqual([['hooks.test'], [PUBLIC]])
    expect(receiver.received).toMatchObject([{ headers: { host: 'hooks.test.' }, path: '/orders?x=1' }])
  })

  it('needs a certificate of the name, that is trusted', async () => {
    const { port, received } = await startReceiver({ tls: HOOKS_TEST })
    const trusting = givenConnector({ answers: [[PUBLIC]], port, ca: HOOKS_TEST.cert })
    expect(await trusting.send('https://other.test/')).toMatchObject({
      outcome: 'unreachable',
      error: 'The certificate is of another name (ERR_TLS_CERT_ALTNAME_INVALID)',
    })
    const plain = givenConnector({ answers: [[PUBLIC]], port })
    expect(await plain.send('https://hooks.test/')).toMatchObject({
      outcome: 'unreachable',
      error: 'The certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
    })
    expect(received).toEqual([])
  })

  it('may be closed before and after the response, also over TLS', async () => {
    const receiver = await startReceiver({ tls: HOOKS_TEST, answer: (_, __, socket) => socket.destroy() })
    const given = { answers: [[PUBLIC]], port: receiver.port, ca: HOOKS_TEST.cert }
    expect(await givenConnector(given).send('https://hooks.test/')).toMatchObject({ outcome: 'unreachable' })
    const closed = Promise.withResolvers<void>()
    receiver.answerWith((_, response, socket) => {
      response.end()
      socket.once('close', closed.resolve)
      setTimeout(() => socket.destroy(), 20)
    })
    expect(await givenConnector(given).send('https://hooks.test/')).toMatchObject({ outcome: 'delivered' })
    await closed.promise
    expect(receiver.received).toHaveLength(2)
  })

  it('needs a trusted certificate, whatever the environment says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { port } = await startReceiver({ tls: HOOKS_TEST })
    expect(await givenConnector({ answers: [[PUBLIC]], port }).send('https://hooks.test/')).toMatchObject({
      outcome: 'unreachable',
    })
  })

  it('uses no proxy', async () => {
    const { port } = await startReceiver()
    const proxy = await startReceiver()
    for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'ALL_PROXY'])
      vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`)
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { send, connectedTo } = givenConnector({ networks: LOOPBACK, port })
    expect(await send('http://127.0.0.1/')).toMatchObject({ outcome: 'delivered' })
    expect(connectedTo).toEqual(['127.0.0.1'])
    expect(proxy.countConnections()).toBe(0)
  })
})
