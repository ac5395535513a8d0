import net from 'node:net'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.ts'
import { type ConnectionOptions, createAdapter, type Db, isConnectionFailure, sql } from '../index.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../test/empty-database.ts'

describe('a Prisma client on createAdapter', () => {
  let database: EmptyDatabase

  beforeAll(async () => {
    database = await createEmptyDatabase(inject('databaseUrl'))
    await database.run(`ALTER DATABASE ${database.name} SET timezone TO 'Asia/Kolkata'`)
    await database.run(`
      CREATE SCHEMA things;
      CREATE TABLE things.things
        (organization text, id bigint, seen_at timestamptz(3) NOT NULL, PRIMARY KEY (organization, id))`)
  })
  afterAll(() => database.drop())

  function connect(own: Partial<ConnectionOptions> = {}): PrismaClient {
    const adapter = createAdapter({ url: database.url, schema: 'things', applicationName: 'adapter-spec', ...own })
    const prisma = new PrismaClient({ adapter })
    onTestFinished(() => prisma.$disconnect())
    return prisma
  }
  const terminate = () =>
    database.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'adapter-spec'")

  it('is a Db', async () => {
    const db: Db = connect()
    expect(await db.$executeRaw(sql`SELECT 1`)).toBe(1)
    expect(await db.$queryRaw(sql`SELECT ${2}::int AS n`)).toEqual([{ n: 2 }])
  })

  it("reads the schema's tables by raw statement and by model", async () => {
    const prisma = connect()
    await prisma.$executeRaw`INSERT INTO things VALUES ('acme', 1, '2026-11-21T10:00:00Z')`
    expect(await prisma.thing.count({ where: { organization: 'acme' } })).toBe(1)
  })

  it('keeps instants in a database with another time zone', async () => {
    const prisma = connect()
    const seenAt = new Date('2026-11-21T10:00:00.123Z')
    await prisma.thing.create({ data: { organization: 'zone', id: 1n, seenAt } })
    await prisma.$executeRaw`INSERT INTO things VALUES ('zone', 2, ${seenAt})`
    const read = await prisma.$queryRaw`SELECT seen_at, extract(epoch FROM seen_at)::float8 AS s FROM things
      WHERE organization = 'zone'`
    const expected = { seen_at: seenAt, s: seenAt.getTime() / 1000 }
    expect(read).toEqual([expected, expected])
  })

  it('sets the page cost of an SSD, unless the address sets another', async () => {
    expect(await connect().$queryRaw`SHOW random_page_cost`).toEqual([{ random_page_cost: '1.1' }])
    const url = `${database.url}?options=-c%20random_page_cost%3D3`
    expect(await connect({ url }).$queryRaw`SHOW random_page_cost`).toEqual([{ random_page_cost: '3' }])
  })

  // A plan that is kept from when there were three rows reads 10,000 rows each time.
  it('plans a statement for the present size of the table at each run', async () => {
    await database.run(`
      CREATE TABLE things.filling (id int PRIMARY KEY) WITH (autovacuum_enabled = false);
      INSERT INTO things.filling VALUES (1), (2), (3);
      ANALYZE things.filling`)
    const db: Db = connect({ maxConnections: 1 })
    const lookUp = () =>
      db.$queryRaw(sql`SELECT id FROM filling JOIN unnest(${[1, 2]}::int[]) AS asked (id) USING (id)`)
    for (let run = 0; run < 10; run += 1) await lookUp()
    await database.run('INSERT INTO things.filling SELECT generate_series(4, 10000)')
    const read = async () => {
      await db.$queryRaw(sql`SELECT pg_stat_force_next_flush()::text`)
      return db.$queryRaw(sql`SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'filling'`)
    }
    const before = await read()
    for (let run = 0; run < 10; run += 1) expect(await lookUp()).toHaveLength(2)
    expect(await read()).toEqual(before)
  })

  it('sets each timeout that is unlimited in Postgres', async () => {
    const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'application_name']
    const rows = await connect().$queryRaw`
      SELECT name, setting FROM pg_settings WHERE name = ANY (${names}) ORDER BY name`
    expect(rows).toEqual([
      { name: 'application_name', setting: 'adapter-spec' },
      { name: 'idle_in_transaction_session_timeout', setting: '10000' },
      { name: 'lock_timeout', setting: '2000' },
      { name: 'statement_timeout', setting: '10000' },
    ])
  })

  it('joins the options in the address with its own', async () => {
    const url = new URL(database.url)
    url.searchParams.set('options', '-c work_mem=5MB')
    const prisma = connect({ url: url.href })
    const rows = await prisma.$queryRaw`SELECT current_setting('work_mem') AS mem, current_schema()::text AS schema`
    expect(rows).toEqual([{ mem: '5MB', schema: 'things' }])
  })

  it('prepares a statement once per connection', async () => {
    const prisma = connect({ maxConnections: 1 })
    const count = (organization: string) =>
      prisma.$queryRaw`SELECT count(*) FROM things WHERE organization = ${organization}`
    for (const organization of ['one', 'two']) await count(organization)
    const prepared = await prisma.$queryRaw`
      SELECT generic_plans + custom_plans AS executed FROM pg_prepared_statements WHERE statement LIKE 'SELECT count%'`
    expect(prepared).toEqual([{ executed: 2n }])
  })

  it('reads the new tables after the swap of a replay', async () => {
    const prisma = connect({ maxConnections: 1 })
    const places = () => prisma.$queryRaw`SELECT count(*)::int AS places FROM places`
    await database.run('CREATE TABLE things.places (); CREATE SCHEMA rebuilt; CREATE TABLE rebuilt.places ()')
    await database.run('INSERT INTO rebuilt.places DEFAULT VALUES')
    expect(await places()).toEqual([{ places: 0 }])
    await database.run('ALTER SCHEMA things RENAME TO retired; ALTER SCHEMA rebuilt RENAME TO things')
    onTestFinished(async () => {
      await database.run('DROP SCHEMA things CASCADE; ALTER SCHEMA retired RENAME TO things; DROP TABLE things.places')
    })
    expect(await places()).toEqual([{ places: 1 }])
  })

  it('refuses a schema name that would need quoting', () => {
    expect(() => connect({ schema: 'things -c fsync=off' })).toThrow(/lower-case letters/)
  })

  it('continues after its idle connections were terminated', async () => {
    const lost: Error[] = []
    const prisma = connect({ onConnectionLost: (error) => lost.push(error) })
    await Promise.all([prisma.$executeRaw`SELECT 1`, prisma.$executeRaw`SELECT 1 FROM pg_sleep(0.05)`])
    await terminate()
    await expect.poll(() => lost.length).toBe(2)
    expect(await prisma.$queryRaw`SELECT 1 AS n`).toEqual([{ n: 1 }])
  })

  it('continues after a connection was terminated inside a transaction', async () => {
    const prisma = connect({ maxConnections: 1 })
    const cut = prisma.$transaction([
      prisma.$executeRaw`INSERT INTO things VALUES ('cut', 1, now())`,
      prisma.$executeRaw`SELECT 1 FROM pg_sleep(10)`,
    ])
    const outcome = cut.catch((error: unknown) => error)
    await expect.poll(async () => (await sleeping()).length).toBe(1)
    await terminate()
    expect(isConnectionFailure(await outcome)).toBe(true)
    expect(await prisma.thing.count({ where: { organization: 'cut' } })).toBe(0)
  })
  const sleeping = () =>
    database.run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = 'adapter-spec'")

  it('closes a silent connection and opens another', async () => {
    const proxy = await startSilenceableProxy(database.url)
    const prisma = connect({ url: proxy.url, silentConnectionMs: 500 })
    onTestFinished(proxy.stop)
    await prisma.$executeRaw`SELECT 1`
    proxy.silence()
    const outcome = await prisma.$executeRaw`SELECT 1`.catch((error: unknown) => error)
    expect(outcome).toMatchObject({ code: 'DATABASE_SILENT' })
    expect(isConnectionFailure(outcome)).toBe(true)
    expect(await prisma.$queryRaw`SELECT 1 AS n`).toEqual([{ n: 1 }])
  })
})

/** Passes everything on; `silence` makes the connections of that moment swallow it, as a broken network does. */
async function startSilenceableProxy(databaseUrl: string) {
  const { hostname, port } = new URL(databaseUrl)
  const sockets = new Set<net.Socket>()
  const server = net.createServer((downstream) => {
    const upstream = net.connect(Number(port), hostname)
    for (const [from, to] of [
      [downstream, upstream],
      [upstream, downstream],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => to.write(bytes))
      from.on('error', () => {})
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = new URL(databaseUrl)
  own.host = `127.0.0.1:${(server.address() as net.AddressInfo).port}`
  return {
    url: own.href,
    silence: () => {
      for (const socket of sockets) socket.removeAllListeners('data').resume()
    },
    stop: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
