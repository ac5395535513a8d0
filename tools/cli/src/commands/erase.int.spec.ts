import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  type ErasureAnswer,
  type ErasureQuestion,
  type ErasureReceipt,
  type ErasureVerdict,
  gatewayCalls,
  type LiftVerdict,
  userEraserCalls,
  type UserLookedUp,
  userProjectorCalls,
} from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { OrganizationConfig } from '@nextvisit/contracts'
import { withLogAdmin } from '@nextvisit/log'
import { createInstallationKeys, openReceiptSecret, signReceipt } from '@nextvisit/sealing'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import {
  type CallRoute,
  createInternalServer,
  createLogger,
  createMetrics,
  NOT_FOUND,
  serveCalls,
} from '@nextvisit/service-kit'
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { changesBy } from '../../test/changes-by.ts'
import { runNextvisit } from '../../test/run-nextvisit.ts'
import { applyWorkspace } from '../workspace/apply-workspace.ts'

const TOKEN = 'a-token-for-this-spec'
const PLACE = { organization: 'acme', project: 'shop' }
const AT = '2026-11-02T10:00:00.000Z'
const KEY_RING = givenKeyRing('ab'.repeat(32))
const KEYS = createInstallationKeys(KEY_RING)

const CATALOG = `test-catalog-${randomUUID().slice(0, 8)}`

beforeAll(async () => {
  const connection = { brokers: inject('kafkaBrokers').split(','), clientId: 'cli-spec' }
  await withLogAdmin(connection, (admin) => admin.createTopic(CATALOG, { partitions: 1 }))
  const organizations = [OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop' }] })]
  await applyWorkspace({ connection, organizations, contents: [], appliedBy: 'spec', topic: CATALOG })
})

let folder: string
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))))
afterEach(() => rm(folder, { recursive: true }))

type ReceiptParts = Pick<ErasureQuestion, 'userIds' | 'suppress'> & {
  erasureId: string
  notCovered?: string[]
  keys?: typeof KEYS
}

function receiptOf({ erasureId, userIds, suppress, notCovered = ['Exported files.'], keys = KEYS }: ReceiptParts) {
  const content = {
    version: 1,
    erasureId,
    ...PLACE,
    requestedAt: AT,
    completedAt: AT,
    suppress,
    unknown: 0,
    users: userIds.map((userId) => ({ userId, partition: 0, offset: '7', keyCount: 0, keys: [] })),
    stores: [],
    notCovered,
  } as const
  return signReceipt(content, openReceiptSecret(KEY_RING, keys.receiptSecret)) as unknown as ErasureReceipt
}

function suppression(hash: string) {
  return { hash, since: AT, erasureId: randomUUID() }
}

async function serve(routes: readonly CallRoute[]): Promise<string> {
  const server = createInternalServer({
    host: '127.0.0.1',
    port: 0,
    token: TOKEN,
    routes,
    isLive: () => ({ status: 'available' }),
    isReady: () => ({ status: 'available' }),
    metrics: createMetrics('spec'),
    logger: createLogger('spec', 'silent'),
  })
  const { port } = await server.start()
  onTestFinished(() => server.stop())
  return `http://127.0.0.1:${port}`
}

/** A gateway that refuses its first requests, and an eraser that completes an erasure at the second read. */
async function givenServices({ refusals = 0 } = {}) {
  const requests: ErasureQuestion[] = []
  const begun = new Map<string, ErasureQuestion>()
  const reads = new Map<string, number>()
  const suppressed = new Set([userIdOf('acme', 'shop', 'ada')])
  const gateway = serveCalls(gatewayCalls, {
    readRefusals: async () => ({ refusals: [] }),
    requestErasure: async (question): Promise<ErasureVerdict> => {
      requests.push(question)
      const { erasureId = randomUUID(), userIds } = question
      if (requests.length <= refusals) return { outcome: 'unavailable', erasureId }
      begun.set(erasureId, question)
      return { outcome: 'requested', erasureId, requestedAt: AT, users: userIds.length, unknown: 0 }
    },
    readSuppressions: async ({ after }) => {
      return {
        page: after
          ? { suppressions: [suppression('b')], next: null }
          : { suppressions: [suppression('a')], next: '7-0' },
      }
    },
    readKnownErasures: async () => ({ users: null }),
    liftSuppression: async ({ userId }): Promise<LiftVerdict> => ({
      outcome: suppressed.delete(userId) ? 'lifted' : 'unknown',
    }),
  })
  const userEraser = serveCalls(userEraserCalls, {
    readErasure: async ({ erasureId }): Promise<ErasureAnswer | typeof NOT_FOUND> => {
      const question = begun.get(erasureId)
      if (!question) return NOT_FOUND
      const nth = (reads.get(erasureId) ?? 0) + 1
      reads.set(erasureId, nth)
      const { userIds, suppress } = question
      const own = { erasureId, requestedAt: AT, users: userIds.length, unknown: 0, suppress, stores: [] }
      const running = [
        { store: 'redis', status: 'complete', rows: 0, at: AT },
        { store: 'user-keys', status: 'running', rows: 1 },
      ] as const
      if (nth === 1) return { ...own, status: 'running', stores: [...running] }
      return { ...own, status: 'complete', completedAt: AT, receipt: receiptOf({ erasureId, userIds, suppress }) }
    },
    listErasures: async () => ({ erasures: [], next: null }),
    readUnfinished: async () => ({ erasures: [] }),
    readInstallationKeys: async () => KEYS,
  })
  const env = {
    NEXTVISIT_DATA: folder,
    INTERNAL_TOKEN: TOKEN,
    KAFKA_BROKERS: inject('kafkaBrokers'),
    GATEWAY_INTERNAL_URLS: await serve(gateway),
    USER_ERASER_URLS: await serve(userEraser),
  }
  const runWith = (own: Readonly<Record<string, string>>, ...args: readonly string[]) =>
    runNextvisit(args, { ...env, ...own }, CATALOG)
  return { requests, begun, runWith, run: (...args: string[]) => runWith({}, ...args) }
}

const unused = () => Promise.reject(new Error('not asked'))

/** A user projector that only looks users up. */
function projectorWith(existence: (userId: string) => UserLookedUp['existence']): readonly CallRoute[] {
  return serveCalls(userProjectorCalls, {
    lookUpUsers: async ({ questions }) => ({
      answers: questions.map(({ userId }) => ({ existence: existence(userId) })),
    }),
    readUser: unused,
    readTraits: unused,
    readUserNames: unused,
    readUserKeys: unused,
    readSegments: unused,
    readSegmentMembers: unused,
  })
}

const fileOf = (name: string) => path.join(folder, name)

describe('nextvisit erase', () => {
  it('requests one erasure of distinct users, waits until it is complete, and prints a receipt that verifies', async () => {
    const { run, runWith, requests } = await givenServices({ refusals: 2 })
    const NEXTVISIT_ACTOR = `spec ${randomUUID()}`
    const wanted = ['--user', 'ada', '--user', 'grace', '--user', 'ada', '--suppress', '--yes']
    const erased = await runWith({ NEXTVISIT_ACTOR }, 'erase', '--project', 'acme/shop', ...wanted)
    const { exitCode, stdout, stderr } = erased
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 users, 0 without') })
    const userIds = ['ada', 'grace'].map((name) => userIdOf('acme', 'shop', name))
    // Each attempt has the id of the first.
    expect(requests).toHaveLength(3)
    expect(new Set(requests.map(({ erasureId }) => erasureId)).size).toBe(1)
    expect(requests[0]).toMatchObject({ ...PLACE, userIds, suppress: true })
    const details = { erasureId: requests[0]?.erasureId, users: 2, suppress: true }
    const recorded = { kind: 'users.erase', ...PLACE, outcome: 'made', details }
    expect(await changesBy(NEXTVISIT_ACTOR)).toMatchObject([recorded])

    await writeFile(fileOf('receipt.json'), stdout)
    const verified = await run('receipts', 'verify', fileOf('receipt.json'), '--key', KEYS.receiptKey)
    expect(verified).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^Valid: erasure .* of 2 users/) })
  })

  it('does not wait with --no-wait, and erases nothing without --yes', async () => {
    const { run, requests } = await givenServices()
    const named = ['--project', 'acme/shop', '--user', 'ada']
    expect(await run('erase', ...named)).toMatchObject({ exitCode: 2, stdout: '' })
    expect(requests).toEqual([])
    const { exitCode, stdout } = await run('erase', ...named, '--yes', '--no-wait')
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${requests[0]?.erasureId}\n` })
  })

  it('names the users without a profile before it erases', async () => {
    const { runWith, requests } = await givenServices()
    const erase = async (existence: (userId: string) => UserLookedUp['existence']) => {
      const USER_PROJECTOR_URLS = await serve(projectorWith(existence))
      const names = ['ada', 'grcae', 'grace'].flatMap((name) => ['--user', name])
      const { exitCode, stderr } = await runWith({ USER_PROJECTOR_URLS }, 'erase', '--project', 'shop', ...names)
      expect(exitCode).toBe(2)
      return stderr
    }
    const known = new Set(['ada', 'grace'].map((name) => userIdOf('acme', 'shop', name)))
    expect(await erase((userId) => (known.has(userId) ? 'exists' : 'missing'))).toBe(
      'This would erase 3 users of acme/shop for good: grcae (no profile), ada, grace. Nothing was erased. Add --yes to erase.\n',
    )
    expect(await erase(() => 'unknown')).toContain('Profiles were not checked: the user-projector lags.')
    expect(requests).toEqual([])
  })

  it('says that profiles were not checked without the address of a user projector that answers', async () => {
    const { run, runWith } = await givenServices()
    const named = ['erase', '--project', 'shop', '--user', 'ada', '--suppress']
    expect((await run(...named)).stderr).toBe(
      'This would erase 1 user of acme/shop for good: ada. Profiles were not checked: USER_PROJECTOR_URLS is not set. ' +
        'Their records would be refused from then on. Nothing was erased. Add --yes to erase.\n',
    )
    const silent = await runWith({ USER_PROJECTOR_URLS: 'http://127.0.0.1:1' }, ...named)
    expect(silent.stderr).toContain('Profiles were not checked: the user-projector does not answer.')
  })

  it('shows the status of an erasure, and prints its receipt once it is complete', async () => {
    const { run, begun } = await givenServices()
    const erasureId = randomUUID()
    begun.set(erasureId, { ...PLACE, userIds: [randomUUID()], suppress: false })
    const show = () => run('erase', '--project', 'shop', '--erasure', erasureId)
    expect(await show()).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `Erasure ${erasureId} of 1 user is running. Requested ${AT}.\nuser-keys running\n`,
    })
    const { exitCode, stdout, stderr } = await show()
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('is complete') })
    expect(JSON.parse(stdout)).toMatchObject({ erasureId, signature: expect.any(String) })
    const unknown = await run('erase', '--project', 'acme/shop', '--erasure', randomUUID())
    expect(unknown).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('There is no erasure') })
  })

  it.each([
    ['acme/shpo', '--yes'],
    ['other/shop', '--yes'],
    ['shpo', '--no-wait'],
  ])('requests and previews nothing in the misspelt project %s', async (project, flag) => {
    const { run, requests } = await givenServices()
    const { exitCode, stderr } = await run('erase', '--project', project, '--user', 'ada', flag)
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: `There is no project ${project}. Known: acme/shop.\n`,
    })
    expect(requests).toEqual([])
  })

  it.each([
    ['whose project cannot be checked, as there is no log', { KAFKA_BROKERS: '' }, 2, 'KAFKA_BROKERS is not set'],
    ['with another INTERNAL_TOKEN', { INTERNAL_TOKEN: 'of another system' }, 1, 'The service refuses INTERNAL_TOKEN'],
  ])('refuses an erasure %s', async (_, own, exitCode, message) => {
    const { runWith, requests } = await givenServices()
    const named = ['--project', 'acme/shop', '--user', 'ada', '--yes']
    const ended = await runWith(own, 'erase', ...named)
    expect(ended).toEqual({ exitCode, stdout: '', stderr: expect.stringContaining(message) })
    expect(requests).toEqual([])
  })

  it('repeats the erasures of receipts, except for known ones, and none if a receipt was changed', async () => {
    const { run, requests, begun } = await givenServices()
    const lost = receiptOf({ erasureId: randomUUID(), userIds: [randomUUID()], suppress: true })
    const known = receiptOf({ erasureId: randomUUID(), userIds: [randomUUID()], suppress: false })
    begun.set(known.erasureId, { ...PLACE, userIds: [], suppress: false })
    const [one, both] = [fileOf('one.json'), fileOf('both.ndjson')]
    await writeFile(one, JSON.stringify({ ...lost, suppress: false }))
    await writeFile(both, `${JSON.stringify(lost)}\n${JSON.stringify(known)}\n`)
    const changed = await run('erase', '--receipts', both, one, '--yes')
    expect(changed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('it was changed') })
    const unconfirmed = await run('erase', '--receipts', both)
    expect(unconfirmed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('repeat 2 erasures of 2 users') })
    expect(requests).toEqual([])

    const { exitCode, stderr } = await run('erase', '--receipts', both, '--yes')
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('is known') })
    const { erasureId, users, suppress } = lost
    expect(requests).toEqual([{ ...PLACE, erasureId, suppress, userIds: users.map(({ userId }) => userId) }])
  })

  it('repeats no erasure of a receipt with another key, unless --key names it', async () => {
    const { run, requests } = await givenServices()
    const earlier = createInstallationKeys(KEY_RING)
    const [own, foreign] = [KEYS, earlier].map((keys) =>
      receiptOf({ erasureId: randomUUID(), userIds: [randomUUID()], suppress: keys === earlier, keys }),
    )
    const file = fileOf('receipts.ndjson')
    await writeFile(file, `${JSON.stringify(own)}\n${JSON.stringify(foreign)}\n`)
    const repeat = (...args: string[]) => run('erase', '--receipts', file, ...args)
    const refusal = `${file}: the receipt of erasure ${foreign?.erasureId} is signed by ${earlier.receiptKey}, but this installation signs by ${KEYS.receiptKey}. It may be forged. Nothing was erased.`
    for (const args of [[], ['--yes'], ['--yes', '--key', createInstallationKeys(KEY_RING).receiptKey]])
      expect(await repeat(...args)).toEqual({ exitCode: 1, stdout: '', stderr: expect.stringContaining(refusal) })
    expect((await repeat('--yes')).stderr).toContain(`add --key ${earlier.receiptKey}.`)

    const preview = await repeat('--key', earlier.receiptKey)
    expect(preview).toEqual({
      exitCode: 2,
      stdout: '',
      stderr:
        'This would repeat 2 erasures of 2 users in acme/shop. Records of 1 user would be refused from then on. ' +
        `Signed by ${KEYS.receiptKey} (of this installation), ${earlier.receiptKey} (named by --key). ` +
        'Nothing was erased. Add --yes to erase.\n',
    })
    expect(requests).toEqual([])
    expect(await repeat('--key', earlier.receiptKey, '--yes')).toMatchObject({ exitCode: 0 })
    expect(requests.map(({ erasureId }) => erasureId)).toEqual([own?.erasureId, foreign?.erasureId])
  })

  it('repeats no erasure while the key of the installation cannot be read', async () => {
    const { runWith, requests } = await givenServices()
    const file = fileOf('receipt.json')
    await writeFile(
      file,
      JSON.stringify(receiptOf({ erasureId: randomUUID(), userIds: [randomUUID()], suppress: true })),
    )
    const silent = { USER_ERASER_URLS: 'http://127.0.0.1:1' }
    expect(await runWith(silent, 'erase', '--receipts', file, '--yes')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('The user-eraser does not answer, or has no keys yet'),
    })
    expect(requests).toEqual([])
  })
})

describe('nextvisit receipts verify', () => {
  it('exits with 1 after a change of any character that is no white space, and for another key', async () => {
    const { run } = await givenServices()
    const text = JSON.stringify(receiptOf({ erasureId: randomUUID(), userIds: [randomUUID()], suppress: false }))
    const file = fileOf('receipt.json')
    await writeFile(file, JSON.stringify(JSON.parse(text), null, 2))
    expect(await run('receipts', 'verify', file)).toMatchObject({ exitCode: 0 })
    const other = createInstallationKeys(KEY_RING).receiptKey
    expect(await run('receipts', 'verify', file, '--key', other)).toMatchObject({ exitCode: 1, stdout: '' })
    for (let at = 0; at < text.length; at += 7) {
      await writeFile(file, text.slice(0, at) + (text[at] === '1' ? '2' : '1') + text.slice(at + 1))
      expect(await run('receipts', 'verify', file), `at ${at}`).toMatchObject({ exitCode: 1, stdout: '' })
    }
    await writeFile(file, `\uFEFF${text}\n`)
    expect(await run('receipts', 'verify', file)).toMatchObject({ exitCode: 0 })
    await writeFile(file, '\n')
    expect(await run('receipts', 'verify', file)).toMatchObject({
      exitCode: 1,
      stderr: 'Not valid: the file is empty.\n',
    })
    await writeFile(file, await readFile(import.meta.filename))
    expect(await run('receipts', 'verify', file)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('JSON'),
    })
  })

  it('says that a file is the whole answer about an erasure, or comes from before it was complete', async () => {
    const { run } = await givenServices()
    const file = fileOf('answer.json')
    const verify = async (content: unknown) => {
      await writeFile(file, JSON.stringify(content))
      const { exitCode, stderr } = await run('receipts', 'verify', file)
      expect(exitCode).toBe(1)
      return stderr
    }
    const receipt = receiptOf({ erasureId: randomUUID(), userIds: [randomUUID()], suppress: false })
    const { erasureId } = receipt
    const answer = { erasureId, requestedAt: AT, users: 1, unknown: 0, suppress: false, stores: [] }
    const whole = 'Not valid: it is the whole answer about an erasure'
    expect(await verify({ ...answer, status: 'complete', receipt })).toBe(`${whole}, not its receipt: jq .receipt.\n`)
    expect(await verify({ ...answer, status: 'running' })).toBe(`${whole} that is not complete, without a receipt.\n`)
    expect(await verify(null)).toBe('Not valid: it is null, as of an erasure that is not complete.\n')
  })
})

it('nextvisit receipts verify prints no control characters of a receipt', async () => {
  const { run } = await givenServices()
  const notCovered = ['\u001b[2A\u001b[2KKey: mine, as expected\r\n', 'a\u009b2K \u202eb \u2028 \u00e9']
  const receipt = receiptOf({ erasureId: randomUUID(), userIds: [randomUUID()], suppress: false, notCovered })
  await writeFile(fileOf('receipt.json'), JSON.stringify(receipt))
  const { exitCode, stdout } = await run('receipts', 'verify', fileOf('receipt.json'))
  expect({ exitCode, shown: stdout.split('Not covered:\n')[1] }).toEqual({
    exitCode: 0,
    shown: `  \\u{1b}[2A\\u{1b}[2KKey: mine, as expected\\u{d}\\u{a}\n  a\\u{9b}2K \\u{202e}b \\u{2028} \u00e9\n`,
  })
})

it('nextvisit users lists suppressed users on all pages, and deletes a suppression once', async () => {
  const { run, runWith } = await givenServices()
  const list = await run('users', 'suppressed', '--project', 'acme/shop')
  expect(
    list.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([{ hash: 'a' }, { hash: 'b' }])
  const NEXTVISIT_ACTOR = `spec ${randomUUID()}`
  const lift = () => runWith({ NEXTVISIT_ACTOR }, 'users', 'unsuppress', '--project', 'acme/shop', '--user', 'ada')
  expect(await lift()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('is deleted') })
  expect(await lift()).toMatchObject({ exitCode: 1, stderr: 'ada is not suppressed in acme/shop.\n' })
  const recorded = { kind: 'suppression.lift', ...PLACE, details: { userId: userIdOf('acme', 'shop', 'ada') } }
  expect(await changesBy(NEXTVISIT_ACTOR)).toMatchObject([
    { ...recorded, outcome: 'refused' },
    { ...recorded, outcome: 'made' },
  ])
})
