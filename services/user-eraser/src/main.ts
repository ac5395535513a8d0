/** Runs the consumer that consumer.ts describes, and its work. */
import { runConsumer } from '@nextvisit/consumer'
import { configOrExit } from '@nextvisit/service-kit'
import { readWorkConfig } from './config.ts'
import { userEraser } from './consumer.ts'
import { createErasureWork } from './erasing/erasure-work.ts'

const config = configOrExit(() => readWorkConfig())
await runConsumer(userEraser, { createWork: (parts) => createErasureWork(config, parts) })
