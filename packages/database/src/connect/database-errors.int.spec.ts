import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.ts'
import { createAdapter, isConnectionFailure, isTransientError, sqlStateOf } from '../index.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../../test/empty-database.ts'
import { withClient } from './with-client.ts'

function connect(url: string): PrismaClient {
  const adapter = createAdapter({ url, schema: 'public', applicationName: 'errors-spec', maxConnections: 2 })
  return new PrismaClient({ adapter })
}
async function classify(work: () => Promise<unknown>) {
  const error: unknown = await work().then(
    () => 'nothing was thrown',
    (thrown: unknown) => thrown,
  )
  return {
    sqlState: sqlStateOf(error),
    isConnectionFailure: isConnectionFailure(error),
    isRetryable: isTransientError(error),
  }
}
const bug = { isConnectionFailure: false, isRetryable: false }
const contended = { isConnectionFailure: false, isRetryable: true }
const away = { isConnectionFailure: true, isRetryable: true }

describe('an error of a client', () => {
  let database: EmptyDatabase
  let prisma: PrismaClient

  beforeAll(async () => {
    database = await createEmptyDatabase(inject('databaseUrl'))
    prisma = connect(database.url)
    await prisma.$executeRaw`CREATE TABLE kept (n int PRIMARY KEY)`
  })
  afterAll(async () => {
    await prisma.$disconnect()
    await database.drop()
  })

  function inTransaction(...statements: string[]): Promise<unknown> {
    return prisma.$transaction(statements.map((statement) => prisma.$executeRawUnsafe(statement)))
  }

  it('carries the code that a statement of a transaction raised, and the transaction is rolled back', async () => {
    const raise = "DO $$ BEGIN RAISE EXCEPTION 'stale' USING ERRCODE = 'NV001'; END $$"
    expect(await classify(() => inTransaction('INSERT INTO kept VALUES (1)', raise))).toEqual({
      sqlState: 'NV001',
      ...bug,
    })
    expect(await prisma.$queryRaw`SELECT * FROM kept`).toEqual([])
  })

  it('is a connection failure if the server is read-only, as during a failover', async () => {
    const statements = ['SET TRANSACTION READ ONLY', 'INSERT INTO kept VALUES (9)']
    expect(await classify(() => inTransaction(...statements))).toEqual({ sqlState: '25006', ...away })
  })

  it.each([
    ['a bad statement', '42601', 'SELEC'],
    ['a missing table', '42P01', 'SELECT * FROM nowhere'],
    ['a broken constraint', '23505', 'INSERT INTO kept VALUES (7), (7)'],
  ])('is not transient after %s', async (_, sqlState, statement) => {
    expect(await classify(() => prisma.$executeRawUnsafe(statement))).toEqual({ sqlState, ...bug })
  })

  it('is transient after a lock timeout or a statement timeout', async () => {
    const slow = ['SET LOCAL statement_timeout = 50', 'SELECT 1 FROM pg_sleep(5)']
    expect(await classify(() => inTransaction(...slow))).toEqual({ sqlState: '57014', ...contended })
    await withClient(database.url, async (client) => {
      await client.query('BEGIN; LOCK TABLE kept')
      expect(await classify(() => prisma.$executeRaw`INSERT INTO kept VALUES (2)`)).toEqual({
        sqlState: '55P03',
        ...contended,
      })
      await client.query('ROLLBACK')
    })
  })

  it('is a connection failure if the server ended the connection, idle or busy', async () => {
    const end = 'SELECT pg_terminate_backend(pg_backend_pid())'
    expect(await classify(() => prisma.$executeRawUnsafe(end))).toEqual({ sqlState: '57P01', ...away })
    expect(await classify(() => inTransaction('SELECT 1', end, 'SELECT 1'))).toMatchObject(away)
  })

  it('is a connection failure if the server refuses connections, for every kind of call', async () => {
    const refused = connect('postgresql://postgres:pw@127.0.0.1:1/postgres')
    expect(await classify(() => refused.$queryRaw`SELECT 1`)).toMatchObject(away)
    expect(await classify(() => refused.thing.findMany())).toMatchObject(away)
    const both = () => refused.$transaction([refused.$executeRaw`SELECT 1`, refused.$executeRaw`SELECT 1`])
    expect(await classify(both)).toMatchObject(away)
    const named = connect('postgresql://postgres:pw@localhost:1/postgres')
    expect(await classify(() => named.$queryRaw`SELECT 1`)).toMatchObject(away)
    expect(
      await classify(() => withClient('postgresql://postgres:pw@localhost:1/postgres', async () => {})),
    ).toMatchObject(away)
  })

  it('is a connection failure if no connection was free in time', async () => {
    const held = Promise.all([
      prisma.$executeRaw`SELECT 1 FROM pg_sleep(7)`,
      prisma.$executeRaw`SELECT 2 FROM pg_sleep(7)`,
    ])
    const sleeping = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND application_name = 'errors-spec'"
    await expect.poll(async () => (await database.run(sleeping)).length).toBe(2)
    expect(await classify(() => prisma.$executeRaw`SELECT 1`)).toMatchObject(away)
    await held
  })

  it('is not a connection failure for wrong credentials or a missing database', async () => {
    const url = new URL(database.url)
    url.password = 'wrong'
    expect(await classify(() => connect(url.href).$queryRaw`SELECT 1`)).toEqual({ sqlState: '28P01', ...bug })
    const nowhere = new URL(database.url)
    nowhere.pathname = '/missing_test'
    expect(await classify(() => connect(nowhere.href).$queryRaw`SELECT 1`)).toEqual({ sqlState: '3D000', ...bug })
  })
})
