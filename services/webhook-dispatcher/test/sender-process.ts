/** Sends the deliveries of a database to one endpoint, as a process that a spec kills. */
import { openCommitDb } from '@nextvisit/database'
import { createLogger } from '@nextvisit/service-kit'
import { createCapture } from '../src/sending/capture.ts'
import { createConnector } from '../src/sending/connector.ts'
import { createEndpoints } from '../src/sending/endpoints.ts'
import { LOOPBACK } from '../src/sending/networks.ts'
import { createSender } from '../src/sending/sender.ts'
import { givenCatalog, RING } from './given-catalog.ts'

const [databaseUrl = '', schema = '', url = '', secret = '', partitions = ''] = process.argv.slice(2)
const logger = createLogger('service', 'error')
const { view, setWebhooks } = givenCatalog()
setWebhooks({ id: 'crm', url, secret })
const db = openCommitDb({ url: databaseUrl, schema, applicationName: 'sender process' })
const connector = createConnector({ networks: LOOPBACK, isHttpAllowed: true })
const now = () => new Date()
const sender = createSender({
  db,
  endpoints: createEndpoints({ catalog: view, keyRing: RING, connector, logger }),
  capture: createCapture({
    db,
    now,
    readTraits: async () => ({ outcome: 'unavailable' }),
    answers: { readOfferAnswers: async () => ({ outcome: 'behind' }) },
  }),
  owns: () => true,
  countPartitions: async () => Number(partitions),
  retryDelaysMs: Array.from({ length: 50 }, () => 20),
  logger,
  now,
})
await sender.start()
