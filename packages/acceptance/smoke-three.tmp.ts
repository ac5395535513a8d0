import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { startKafka } from '../local-stack/src/start-kafka.ts'
import { createLogAdmin } from '../log/src/index.ts'
import { createPublisher, partitionForKey } from '../log/src/index.ts'
import { encodeRecord, INTERNAL_ROUTES } from '@nextvisit/contracts'
import { identifyRequested, eventTracked } from '@nextvisit/contracts/fixtures'
import { createTestDatabase } from '@nextvisit/testing'

const dir = mkdtempSync('/tmp/smoke-')
const kafka = await startKafka({ dataDirectory: dir + '/kafka', logFile: dir + '/kafka.log', durable: false })
const connection = { brokers: kafka.brokers.split(','), clientId: 'smoke' }
const admin = createLogAdmin(connection); await admin.connect()
await admin.createTopic('user-events', { partitions: 3 }); await admin.createTopic('catalog', { partitions: 1 })
const children = [], dbs = []
const services = [['user-projector', 'users', 'USER_PROJECTOR', 7801], ['trait-registry', 'registry', 'TRAIT_REGISTRY', 7802], ['metering', 'metering', 'METERING', 7803]] as const
for (const [name, schema, env, port] of services) {
  const db = await createTestDatabase('postgresql://postgres:pw@127.0.0.1:15432/postgres', { schema, migrations: `services/${name}/prisma/migrations` })
  dbs.push(db)
  children.push(spawn(process.execPath, [`services/${name}/src/main.ts`], { stdio: 'inherit', env: { ...process.env, KAFKA_BROKERS: kafka.brokers, [`${env}_DATABASE_URL`]: db.url, INTERNAL_PORT: String(port), INTERNAL_TOKEN: 'x'.repeat(20), LOG_LEVEL: 'info' } }))
}
const call = async (port: number, path: string, body: object) => {
  const t = performance.now()
  const r = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer ' + 'x'.repeat(20) }, body: JSON.stringify(body) })
  console.log('>>', path, r.status, await r.text(), Math.round(performance.now() - t) + ' ms')
}
try {
  for (const [, , , port] of services) for (let i = 0; i < 100; i++) { const ok = await fetch(`http://127.0.0.1:${port}/readyz`).then((r) => r.status === 200, () => false); if (ok) { console.log('>> ready', port, i); break } await sleep(300) }
  const publisher = createPublisher(connection); await publisher.start()
  const facts = [identifyRequested({ operations: { set: { plan: 'pro' } } }), ...Array.from({ length: 50 }, () => eventTracked())]
  const userId = facts[0].userId, partition = partitionForKey(userId, 3)
  const place = { organization: 'acme', project: 'shop' }
  await call(7803, INTERNAL_ROUTES.reserve, { reservations: [{ kind: 'event', recordId: facts[1].id, partition, ...place, month: '2026-11', limit: 60 }, { kind: 'mau', recordId: facts[0].id, partition, ...place, month: '2026-11', limit: 1, userId }] })
  await call(7802, INTERNAL_ROUTES.claim, { claims: [{ kind: 'event', recordId: facts[1].id, partition, ...place, slugs: [{ slug: 'checkout_completed', name: 'Checkout Completed' }, { slug: 'ghost', name: 'ghost' }], limit: 5 }] })
  await call(7801, INTERNAL_ROUTES.lookUpUsers, { users: [{ ...place, userId, partition }] })
  const outcomes = await Promise.all(facts.map((fact) => { const { value, headers } = encodeRecord(fact, { source: 'smoke', time: fact.received }); return publisher.publish({ topic: 'user-events', partition, key: userId, value, headers }, performance.now() + 3000) }))
  console.log('>> published', new Set(outcomes.map((o) => o.outcome)))
  await call(7801, INTERNAL_ROUTES.lookUpUsers, { users: [{ ...place, userId, partition }] })
  await sleep(1500)
  await call(7801, INTERNAL_ROUTES.readUser, { ...place, userId })
  await call(7801, INTERNAL_ROUTES.readUser, { ...place, userId: crypto.randomUUID() })
  await call(7802, INTERNAL_ROUTES.readDefinitions, { ...place, kind: 'event', limit: 5 })
  await call(7803, INTERNAL_ROUTES.readUsage, { ...place, month: '2026-11' })
  await call(7803, INTERNAL_ROUTES.release, { recordIds: [facts[0].id] })
  console.log((await (await fetch('http://127.0.0.1:7801/metrics')).text()).split('\n').filter((l) => /^(skipped|projection_)/.test(l)).slice(0, 12).join('\n'))
  await publisher.stop(500)
} finally {
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(children.map((c) => new Promise((r) => c.once('exit', (code) => { console.log('>> exit', code); r(0) }))))
  await admin.disconnect(); await kafka.stop(); for (const db of dbs) await db.drop()
}
process.exit(0)
