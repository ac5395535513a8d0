import { once } from 'node:events'
import { rm, writeFile, mkdtemp } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { createLogger } from '@nextvisit/service-kit'
import express from 'express'
import { expect, it, onTestFinished } from 'vitest'
import { givenSession } from '../../test/given-session.ts'
import type { FileAnswer } from '../http/file-answer.ts'
import { createHttpServer } from '../http/http-server.ts'
import { sendFile } from '../http/send-file.ts'
import { createUserExport } from './export-user.ts'

const SOON = { timeout: 20_000 }
const userId = '018f0000-0000-7000-8000-000000000000'
const user = { organization: 'acme', project: 'shop', userId }

/** Creates exports whose command is this program. */
async function givenExport(program: string, maxBytes?: number) {
  const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const entry = path.join(folder, 'main.mjs')
  await writeFile(entry, program)
  const logged: Readonly<Record<string, unknown>>[] = []
  const logger = createLogger('console', 'info', { write: (line: string) => void logged.push(JSON.parse(line)) })
  const exports = createUserExport({
    cli: { entry, environment: { KAFKA_BROKERS: 'one:9092' } },
    environment: { INTERNAL_TOKEN: 'a token' },
    logger,
    ...(maxBytes !== undefined && { maxBytes }),
  })
  onTestFinished(exports.close)
  const start = () => exports.start(user, givenSession('operator', 'Grace'))
  async function startFile(): Promise<FileAnswer> {
    const result = await start()
    if (result.outcome === 'answered') return result.answer
    throw new Error(result.message)
  }
  return { start, startFile, close: exports.close, logged }
}

it('sends the output of the command, which gets only its settings and ids, and logs no value', async () => {
  const program = `
    const names = Object.keys(process.env).filter((name) => !name.startsWith('__')).toSorted()
    console.log(JSON.stringify([process.argv.slice(2), names, 'ada@example.com']))`
  const { startFile, logged } = await givenExport(program)
  const { name, contentType, body } = (await startFile()).parts
  expect([name, contentType]).toEqual([`${userId}.ndjson`, 'application/x-ndjson'])
  expect(JSON.parse(await text(body))).toEqual([
    ['users', 'export', '--project', 'acme/shop', '--user-id', userId],
    ['INTERNAL_TOKEN', 'KAFKA_BROKERS', 'NEXTVISIT_CHANGE', 'NEXTVISIT_DATA'],
    'ada@example.com',
  ])
  await expect
    .poll(() => logged, SOON)
    .toMatchObject([
      {
        action: 'user export ended',
        by: 'Grace',
        organization: 'acme',
        project: 'shop',
        userId,
        outcome: 'exit code 0',
      },
    ])
  expect(JSON.stringify(logged)).not.toContain('ada@')
})

it('refuses with the message of a command that wrote nothing', async () => {
  const { start } = await givenExport(`console.error('Nothing is known.'); process.exitCode = 1`)
  expect(await start()).toMatchObject({ outcome: 'refused', error: 'no-export', message: 'Nothing is known.' })
})

/** Sends the exports of this program to callers that must read on within a time, and returns the connection of one. */
async function givenReader(program: string, readWithinMs: number) {
  const given = await givenExport(program)
  const listener = express().get('/', async (_request, response) => sendFile(response, await given.startFile()))
  const server = createHttpServer({ host: '127.0.0.1', port: 0, listener, readWithinMs })
  const { port } = await server.start()
  onTestFinished(server.stop)
  const socket = connect(port, '127.0.0.1').pause()
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  return { ...given, socket }
}

it('ends if its reader reads no further, so that another can run', async () => {
  const program = `setInterval(() => console.log('x'.repeat(1_000_000)), 10)`
  const { startFile, logged } = await givenReader(program, 200)
  await expect.poll(() => logged, SOON).toMatchObject([{ outcome: 'SIGTERM' }])
  await startFile()
})

it('reaches its reader whole if the command pauses for longer than a reader may', async () => {
  const program = `
    console.log('x'.repeat(20_000_000))
    setTimeout(() => console.log('the end'), 2_000)`
  const { socket, logged } = await givenReader(program, 1_000)
  expect(await text(socket)).toContain('the end')
  await expect.poll(() => logged, SOON).toMatchObject([{ outcome: 'exit code 0' }])
})

it('runs one at a time, and ends when its reader leaves', async () => {
  const { start, startFile, logged } = await givenExport(`console.log('{}'); setInterval(() => {}, 60_000)`)
  const { body } = (await startFile()).parts
  expect(await start()).toMatchObject({ outcome: 'refused', error: 'export-runs' })
  await once(body, 'readable')
  body.destroy()
  await expect.poll(() => logged, SOON).toMatchObject([{ outcome: 'SIGTERM' }])
  await startFile()
})

it('ends if its reader has left before the first byte, so that another can run', async () => {
  const { startFile, logged } = await givenExport(`setInterval(() => console.log('x'.repeat(100_000)), 10)`)
  const app = express().get('/', async (_request, response) => {
    const file = await startFile()
    response.destroy()
    await sendFile(response, file)
  })
  const server = app.listen(0)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  await expect(fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)).rejects.toThrow('fetch failed')
  await expect.poll(() => logged, SOON).toMatchObject([{ outcome: 'SIGTERM' }])
})

it('ends with the console although nobody reads it', async () => {
  const { startFile, close, logged } = await givenExport(`setInterval(() => console.log('x'.repeat(100_000)), 1)`)
  const { body } = (await startFile()).parts
  body.on('error', () => undefined)
  await expect.poll(() => body.readableLength, SOON).toBeGreaterThan(0)
  await close()
  await expect.poll(() => logged, SOON).toMatchObject([{ outcome: 'SIGTERM' }])
})

it('breaks off if the command dies', async () => {
  const { startFile } = await givenExport(`process.stdout.write('{}', () => process.kill(process.pid, 'SIGKILL'))`)
  await expect(text((await startFile()).parts.body)).rejects.toThrow('ended early: SIGKILL')
})

it('breaks off beyond its bound', async () => {
  const { startFile, logged } = await givenExport(
    `const write = () => process.stdout.write('x'.repeat(1_000), write); write()`,
    1_000_000,
  )
  const { body } = (await startFile()).parts
  await expect(text(body)).rejects.toThrow('more than 1000000 bytes')
  await expect.poll(() => logged, SOON).toMatchObject([{ outcome: 'SIGTERM' }])
})

it('names the command if the console starts none', async () => {
  const logger = createLogger('console', 'silent')
  const { start } = createUserExport({ cli: undefined, environment: {}, logger })
  expect(await start(user, givenSession('operator'))).toMatchObject({
    error: 'not-here',
    message: expect.stringContaining(`nextvisit users export --project acme/shop --user-id ${userId}`),
  })
})
