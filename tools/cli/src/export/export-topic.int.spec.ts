import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { encodeRecord } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import { readLog, createPublisher, type FetchedRecord, type LogConnection } from '@nextvisit/log'
import { publishCompressed } from '@nextvisit/log/test/publish-compressed.ts'
import { createTestTopic, PATIENT_REQUESTS } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type ExportOptions, exportTopic } from './export-topic.ts'
import { openOutput } from './output-file.ts'

const PARTITIONS = 3
const RECORDS = 300

let folder: string
let connection: LogConnection
let topic: string
let inLog: FetchedRecord[]

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  ;({ connection, topic } = await createTestTopic(inject('kafkaBrokers'), { partitions: PARTITIONS }))
  const publisher = createPublisher(connection, PATIENT_REQUESTS)
  await publisher.start()
  const publish = async (from: number, to: number) => {
    for (let n = from; n < to; n += 1) {
      const fact = eventTracked({ project: n % 2 === 0 ? 'shop' : 'blog', eventName: `__proto__ ${n}` })
      const record = encodeRecord(fact, { source: 'gateway', time: fact.received })
      const value = n === 7 ? 'not JSON' : record.value
      const outcome = await publisher.publish(
        { topic, partition: n % PARTITIONS, key: fact.userId, ...record, value },
        performance.now() + 10_000,
      )
      expect(outcome.outcome).toBe('published')
    }
  }
  await publish(0, RECORDS)
  await publisher.stop(1_000)
  inLog = []
  const all = new Map(Array.from({ length: PARTITIONS }, (_, partition) => [partition, 0n]))
  await readLog(connection, { topic, from: all, onBatch: ({ records }) => void inLog.push(...records), until: 'end' })
})
afterAll(() => rm(folder, { recursive: true }))

async function exported(special: Partial<ExportOptions> = {}): Promise<string[]> {
  const lines: string[] = []
  const write = async (text: string) => void lines.push(...(text.match(/.+\n/g) ?? []))
  const records = await exportTopic({
    connection,
    topic,
    showPartition: async () => () => 'published',
    write,
    onUndecodable: (error) => expect.unreachable(error.message),
    onProgress: () => {},
    ...special,
  })
  expect(records).toBe(lines.length)
  return lines
}

describe('an export', () => {
  it('contains every record of the log, in order, and is repeatable', async () => {
    const lines = await exported()
    const sorted = inLog.toSorted((a, b) => a.partition - b.partition || Number(a.offset - b.offset))
    expect(sorted).toHaveLength(RECORDS)
    expect(lines.map((line) => JSON.parse(line))).toEqual(
      sorted.map(({ partition, offset, timestampMs, key, headers, value }) => {
        const text = String(value)
        const isJson = text !== 'not JSON'
        return {
          topic,
          partition,
          offset: Number(offset),
          timestamp: new Date(timestampMs).toISOString(),
          key: String(key),
          headers,
          value: isJson ? JSON.parse(text) : null,
          ...(!isJson && { valueBase64: Buffer.from(text).toString('base64') }),
        }
      }),
    )
    expect(await exported()).toEqual(lines)
  })

  it('contains the records published from the first instant and before the last', async () => {
    const times = inLog.map(({ timestampMs }) => timestampMs).toSorted((a, b) => a - b)
    const [fromMs = 0, toMs = 0] = [times[RECORDS / 3], times[(2 * RECORDS) / 3]]
    const wanted = times.filter((time) => time >= fromMs && time < toMs)
    const lines = await exported({ fromMs, toMs })
    expect(lines.map((line) => Date.parse(JSON.parse(line).timestamp)).toSorted((a, b) => a - b)).toEqual(wanted)
    expect(await exported({ fromMs: Date.now() + 60_000 })).toEqual([])
    expect(await exported({ toMs: times[0] })).toEqual([])
  })

  it('contains only records of the chosen project', async () => {
    const lines = await exported({ project: { organization: 'acme', project: 'blog' } })
    // One of them is not JSON.
    expect(lines).toHaveLength(RECORDS / 2 - 1)
    expect(lines.every((line) => JSON.parse(line).value.project === 'blog')).toBe(true)
  })
})

it('an export has one line for a batch that cannot be decoded, reports it, and continues after it', async () => {
  const own = await createTestTopic(inject('kafkaBrokers'))
  const place = { topic: own.topic, partition: 0 }
  for (const records of [1, 100_001, 1]) await publishCompressed(own.connection, place, { records })
  const undecodable: string[] = []
  const onUndecodable = ({ message }: Error): void => void undecodable.push(message)
  const lines = await exported({ topic: own.topic, onUndecodable })
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { offset: 0, headers: {} },
    {
      offset: 1,
      key: null,
      value: null,
      valueBase64: '',
      headers: { 'omitted-offsets': '1-100001', 'omitted-records': '100001' },
    },
    { offset: 100_002, headers: {} },
  ])
  expect(undecodable).toEqual([expect.stringContaining(`offsets 1 to 100001 of ${own.topic}/0`)])
  expect(
    await exported({ topic: own.topic, onUndecodable, project: { organization: 'acme', project: 'blog' } }),
  ).toEqual([])
})

describe('its file', () => {
  it.each(['all.ndjson', 'all.ndjson.gz'])('%s appears when it is complete', async (name) => {
    const file = path.join(folder, name)
    const output = await openOutput(file)
    const long = `${'x'.repeat(1_000)}\n`
    for (let n = 0; n < 500; n += 1) await output.write(long)
    expect(await readdir(folder)).not.toContain(name)
    await output.complete()
    const bytes = await readFile(file)
    expect(String(name.endsWith('.gz') ? gunzipSync(bytes) : bytes)).toBe(long.repeat(500))
    expect((await readdir(folder)).filter((entry) => entry.endsWith('.part'))).toEqual([])
  })

  it('fails if it is standard output and its reader has closed the pipe', async () => {
    const code = `
      const { openOutput } = await import(${JSON.stringify(path.join(import.meta.dirname, 'output-file.ts'))})
      process.stdout.on('error', () => {})
      for await (const _ of process.stdin);
      await (await openOutput('-')).write('{}').catch(({ message }) => console.error(message))
    `
    const child = spawn(process.execPath, ['--input-type=module', '--eval', code])
    const complaint = textOf(child.stderr)
    child.stdout.destroy().once('close', () => child.stdin.end())
    expect(await complaint).toBe('The reader closed standard output, so its copy is incomplete.\n')
  })

  it('is complete if two exports write it at the same time: the last to end wins', async () => {
    const file = path.join(folder, 'twice.ndjson')
    const [first, second] = [await openOutput(file), await openOutput(file)]
    await second.write('{"second":0}\n')
    await first.write('{"first":0}\n{"first":1}\n')
    await first.complete()
    expect(await readFile(file, 'utf8')).toBe('{"first":0}\n{"first":1}\n')
    await second.write('{"second":1}\n')
    await second.complete()
    expect(await readFile(file, 'utf8')).toBe('{"second":0}\n{"second":1}\n')
  })

  it('leaves no file if it is discarded, and fails if it cannot be written', async () => {
    const output = await openOutput(path.join(folder, 'given-up.ndjson'))
    await output.write('{}\n')
    await output.discard()
    expect((await readdir(folder)).filter((entry) => entry.startsWith('given-up'))).toEqual([])
    const nowhere = path.join(folder, 'no-such-folder', 'all.ndjson.gz')
    await expect(openOutput(nowhere)).rejects.toThrow('its folder does not exist; create it first')
    await expect(openOutput(folder)).rejects.toThrow('it is a folder')
  })
})
