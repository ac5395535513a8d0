/**
 * `reference-export.ts BROKERS TOPIC RECORDS FILE`: about what Node can do at best, to compare an export with. It reads the
 * topic with the fastest client for Kafka and writes the bare values, one after the other. It forms no lines, decodes no headers
 * for them, sorts nothing by partition, and ends after as many records as it is told.
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
