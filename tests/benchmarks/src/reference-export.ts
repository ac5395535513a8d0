/**
 * `reference-export.ts BROKERS TOPIC RECORDS FILE`: a reference for exports, close to the best that Node can do. It reads the
 * topic with the fastest Kafka client and writes the bare values. It formats no lines, decodes no headers,
 * does not sort by partition, and ends after the given number of records.
 */
import { randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'
import { Consumer, MessagesStreamModes } from '@platformatic/kafka'

const WRITE_BYTES = 256 * 1024
const [brokers = '', topic = '', records = '', file = ''] = process.argv.slice(2)

const beganAt = performance.now()
const groupId = `reference-${randomUUID()}`
const consumer = new Consumer({ clientId: 'reference', groupId, bootstrapBrokers: brokers.split(',') })
const output = await open(file, 'w')
const stream = await consumer.consume({
  topics: [topic],
  mode: MessagesStreamModes.EARLIEST,
  autocommit: false,
  maxBytesPerPartition: 1024 * 1024,
})
let remaining = Number(records)
let parts: Buffer[] = []
let bytes = 0
if (remaining > 0)
  for await (const { value } of stream) {
    parts.push(value)
    bytes += value.length
    remaining -= 1
    if (bytes >= WRITE_BYTES || remaining === 0) {
      await output.writev(parts)
      parts = []
      bytes = 0
    }
    if (remaining === 0) break
  }
await output.close()
console.log(`Wrote ${records} values in ${((performance.now() - beganAt) / 1_000).toFixed(1)} s.`)
process.exit()
