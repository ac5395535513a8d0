import dgram from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createNameResolver } from './resolve-name.ts'

const [A, AAAA] = [1, 28]
const FOUND = Buffer.from([192, 0, 2, 1])
const FOUND_6 = Buffer.from('20010db8000000000000000000000001', 'hex')

/** Returns the name of a question, and its type. */
function questionOf(message: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.'), type: message.readUInt16BE(at + 1), end: at + 5 }
}

/** Returns the response to a question: with this address, or that the name is not known. */
function responseTo(message: Buffer, end: number, address: Buffer | undefined): Buffer {
  const head = Buffer.from(message.subarray(0, 12))
  head.writeUInt16BE(address ? 0x8580 : 0x8583, 2)
  head.writeUInt16BE(address ? 1 : 0, 6)
  head.writeUInt32BE(0, 8)
  const question = message.subarray(12, end)
  if (!address) return Buffer.concat([head, question])
  const record = Buffer.from('c00c0000000100000000', 'hex')
  record.writeUInt16BE(address.length === 4 ? A : AAAA, 2)
  return Buffer.concat([head, question, record, Buffer.from([0, address.length]), address])
}

/**
 * Starts a server of names on loopback. It knows `known.test`, of `ipv4.test` the
 * address of IPv4 alone, does not answer about `silent.test`, and knows nothing else.
 */
async function startNameServer() {
  const socket = dgram.createSocket('udp4').bind(0, '127.0.0.1')
  const asked: string[] = []
  socket.on('message', (message, { port, address }) => {
    const { name, type, end } = questionOf(message)
    asked.push(name)
    if (name.endsWith('silent.test') || (name === 'ipv4.test' && type === AAAA)) return
    const found = type === A ? FOUND : FOUND_6
    socket.send(responseTo(message, end, ['known.test', 'ipv4.test'].includes(name) ? found : undefined), port, address)
  })
  await once(socket, 'listening')
  onTestFinished(() => void socket.close())
  return { servers: [`127.0.0.1:${socket.address().port}`], asked }
}

/** A system whose answers the spec gives one by one. */
function givenSystem() {
  const asked: string[] = []
  const open = new Map<string, PromiseWithResolvers<readonly string[]>>()
  const lookUp = (hostname: string) => {
    asked.push(hostname)
    const answer = Promise.withResolvers<readonly string[]>()
    open.set(hostname, answer)
    return answer.promise
  }
  return { asked, lookUp, answer: (hostname: string) => open.get(hostname)?.resolve(['10.0.0.1']) }
}

describe('the addresses of a name', () => {
  it('are those of the servers of names, and the system is not asked', async () => {
    const { servers } = await startNameServer()
    const { asked, lookUp } = givenSystem()
    const resolve = createNameResolver({ servers, lookUp })
    expect(await resolve('known.test')).toEqual(['192.0.2.1', '2001:db8::1'])
    expect(asked).toEqual([])
  })

  it('are those of IPv4, without a second question, if the server drops questions about IPv6', async () => {
    const { servers, asked } = await startNameServer()
    expect(await createNameResolver({ servers })('ipv4.test')).toEqual(['192.0.2.1'])
    expect(asked).toEqual(['ipv4.test', 'ipv4.test'])
  })

  it('that the system knows come before names that it does not, one question at a time', async () => {
    const { asked, lookUp, answer } = givenSystem()
    const resolve = createNameResolver({ lookUp })
    const first = resolve('inner.localhost')
    answer('inner.localhost')
    expect(await first).toEqual(['10.0.0.1'])
    for (let nth = 0; nth < 3; nth += 1) void resolve(`${nth}.localhost`)
    const again = resolve('inner.localhost')
    expect(asked).toEqual(['inner.localhost', '0.localhost'])
    answer('0.localhost')
    await expect.poll(() => asked.slice(2)).toEqual(['inner.localhost'])
    answer('inner.localhost')
    expect(await again).toEqual(['10.0.0.1'])
    await expect.poll(() => asked.slice(3)).toEqual(['1.localhost'])
  })

  it('come from the system, if no server of names knows it', async () => {
    const { servers, asked } = await startNameServer()
    const resolve = createNameResolver({ servers, lookUp: async () => ['10.0.0.1'] })
    expect(await resolve('inner.test')).toEqual(['10.0.0.1'])
    expect(asked).toEqual(['inner.test', 'inner.test'])
    expect(await createNameResolver({ servers })('localhost')).toContain('127.0.0.1')
    expect(asked).not.toContain('localhost')
  })

  it('come at once, however many other names have no answer', async () => {
    const { servers, asked } = await startNameServer()
    const system = givenSystem()
    const resolve = createNameResolver({ servers, lookUp: system.lookUp })
    for (let nth = 0; nth < 20; nth += 1) void resolve(`${nth}.silent.test`)
    for (let nth = 0; nth < 4; nth += 1) void resolve(`${nth}.inner.test`)
    await expect.poll(() => asked.filter((name) => name.endsWith('silent.test')).length).toBe(40)
    // The system blocks a thread with each question.
    await expect.poll(() => system.asked.length).toBe(1)
    expect(await resolve('known.test')).toContain('192.0.2.1')
    const [first = ''] = system.asked
    expect(system.asked).toEqual([first])
    system.answer(first)
    await expect.poll(() => system.asked.length).toBe(2)
  })

  it('are asked of a system that has failed slowly again after 30 s', async () => {
    // A whole number, whose sums with seconds are exact.
    let [asked, nowMs] = [0, Math.ceil(performance.now())]
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
    onTestFinished(() => clock.mockRestore())
    const { servers } = await startNameServer()
    const resolve = createNameResolver({
      servers,
      lookUp: async () => {
        asked += 1
        nowMs += 1_000
        throw new Error('no answer')
      },
    })
    await expect(resolve('slow.test')).rejects.toThrow('no answer')
    for (let nth = 0; nth < 2; nth += 1) await expect(resolve('slow.test')).rejects.toMatchObject({ code: 'EAI_AGAIN' })
    expect(asked).toBe(1)
    nowMs += 30_000
    await expect(resolve('slow.test')).rejects.toThrow('no answer')
    expect(asked).toBe(2)
  })
})
