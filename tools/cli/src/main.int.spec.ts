import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Ended, runNextvisit } from '../test/run-nextvisit.ts'
import { parseWorkspaceFile } from './workspace/parse-workspace-file.ts'
import cli from '../package.json' with { type: 'json' }
import { hashApiKey, parseApiKey } from '@nextvisit/domain'
import { consumers } from '@nextvisit/services'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const MAIN = path.join(import.meta.dirname, 'main.ts')
const DEMO = path.resolve(import.meta.dirname, '../../../infra/demo-workspace.yaml')

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
})

afterAll(() => rm(folder, { recursive: true }))

/** Runs the command without a local stack and with only the variables of `env`. */
const nextvisit = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runNextvisit(args, { NEXTVISIT_DATA: folder, ...env })

/** Runs a line of shell in which `"$0" "$1"` is the command. */
function shell(line: string): Promise<Ended> {
  return new Promise((resolve) => {
    execFile('sh', ['-c', line, process.execPath, MAIN], (error, stdout, stderr) => {
      resolve({ exitCode: Number(error?.code ?? 0), stdout, stderr })
    })
  })
}

describe('nextvisit', () => {
  it.each([
    [[]],
    [['apply']],
    [['keys']],
    [['keys', 'create']],
    [['why']],
    [['dead-letters']],
    [['dead-letters', 'list']],
    [['dead-letters', 'show']],
    [['dead-letters', 'retry']],
    [['dead-letters', 'discard']],
    [['replay']],
    [['status']],
    [['audit']],
    [['forms']],
    [['forms', 'dry-run']],
    [['migrate']],
    [['export']],
    [['webhooks']],
    [['webhooks', 'list']],
    [['webhooks', 'deliveries']],
    [['webhooks', 'replay']],
    [['webhooks', 'retry']],
    [['webhooks', 'test']],
    [['webhooks', 'enable']],
    [['webhooks', 'listen']],
    [['webhooks', 'create-secret']],
    [['answers']],
    [['answers', 'export']],
    [['erase']],
    [['receipts']],
    [['receipts', 'verify']],
    [['users']],
    [['users', 'export']],
    [['users', 'suppressed']],
    [['users', 'unsuppress']],
    [['import']],
    [['topics']],
    [['topics', 'create']],
    [['env']],
    [['demo']],
  ])('shows help for %j, with an example and its exit codes', async (command) => {
    const { exitCode, stdout } = await nextvisit([...command, '--help'])
    expect(exitCode).toBe(0)
    expect(stdout).toContain(`Usage: ${['nextvisit', ...command].join(' ')}`)
    expect(stdout).toContain('Example:\n  ')
    expect(stdout).toMatch(/Exits with 0|^Commands:$/m)
  })

  it('shows its version', async () => {
    const { exitCode, stdout } = await nextvisit(['--version'])
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${cli.version}\n` })
  })

  it('shows all commands on one screen, one per line, frequent ones first', async () => {
    const { stdout } = await nextvisit(['help'])
    expect(stdout.trimEnd().split('\n').length).toBeLessThanOrEqual(32)
    const commands = stdout.slice(stdout.indexOf('Commands:')).split('\n').slice(1, 16)
    expect(commands).toSatisfy((lines: string[]) => lines.every((line) => /^ {2}[a-z]\S+ .* [A-Z].*\.$/.test(line)))
    expect(commands.map((line) => line.trim().split(' ')[0]).slice(0, 3)).toEqual(['status', 'why', 'apply'])
  })

  it.each([
    [['aply'], 'Did you mean apply?'],
    [['apply'], "missing required argument 'file'"],
    [['forms', 'dry-run', DEMO], "required option '--from <when>' not specified"],
    [['forms', 'dry-run', DEMO, '--from', 'monday'], 'It must be a duration such as 90m or 7d, or an instant'],
    [['export', '--from', '2026-02-31', '--out', '-'], 'The day 2026-02-31 does not exist.'],
    [['forms', 'dry-run', DEMO, '--from', '2026-02-31T09:30:00Z'], 'The day 2026-02-31 does not exist.'],
    [['keys', 'create', '--kind', 'root', '--environment', 'P'], 'Allowed choices are admin, sdk'],
    [['keys', 'create', '--kind', 'sdk', '--environment', 'P', '--may-erase'], 'only admin keys may erase users'],
    [['erase', '--yes'], 'Name the users by --project and --user'],
    [['erase', '--receipts', DEMO, '--user', 'ada', '--yes'], 'Name the users by --project and --user'],
    [['erase', '--erasure', randomUUID()], 'an erasure by --project and --erasure'],
    [['erase', '--project', 'acme/shop', '--erasure', 'latest'], 'It must be the id of an erasure, a UUID.'],
    [['erase', '--receipts', DEMO, '--key', 'short'], 'It must be the publicKey of a receipt'],
    [['erase', '--project', 'acme/shop', '--user', 'ada', '--key', 'x'.repeat(43)], '--key needs --receipts.'],
    [['erase', '--receipts', DEMO, '--suppress'], '--suppress needs --user'],
    [
      ['erase', '--project', 'acme/shop', '--user', ' ', '--yes'],
      '--user: userName must be a string that is not empty',
    ],
    [['erase', '--project', 'acme/shop', '--user', 'ada', '--suppress'], 'GATEWAY_INTERNAL_URLS is not set'],
    [['receipts', 'verify', '/nowhere/receipt.json'], '/nowhere/receipt.json cannot be read (ENOENT)'],
    [['receipts', 'verify', DEMO, '--key', 'short'], 'It must be the publicKey of a receipt'],
    [['topics', 'create', '--partitions', '0'], 'It must be a whole number, 1 or more.'],
    [['topics', 'create'], 'KAFKA_BROKERS is not set and no local stack runs here with NEXTVISIT_DATA=/'],
    [['audit'], 'KAFKA_BROKERS is not set and no local stack runs here with NEXTVISIT_DATA=/'],
    [['audit', '--users-a-pass', '0'], 'It must be a whole number, 1 or more.'],
    [['replay', 'nope'], 'There is no consumer service nope. Known: user-projector,'],
    [['migrate'], 'DATABASE_URL is not set and no local stack runs here with NEXTVISIT_DATA=/'],
    [
      ['import', '/nowhere/h.ndjson', '--project', 'acme/shop'],
      '/nowhere/h.ndjson cannot be read (ENOENT): there is no',
    ],
    [['import', tmpdir(), '--project', 'acme/shop'], 'cannot be read (EISDIR): it is a folder; name a file.'],
    [['apply', '/nowhere/workspace.yaml'], '/nowhere/workspace.yaml cannot be read (ENOENT): there is no such file.'],
  ])('exits with 2 for %j and names the remedy', async (args, message) => {
    const { exitCode, stdout, stderr } = await nextvisit(args)
    expect(exitCode).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/^\S/)
    expect(stderr).not.toContain('    at ')
  })

  it.runIf(existsSync('/dev/full'))('exits with 1 if the disk of its output is full', async () => {
    const { exitCode, stderr } = await shell('"$0" "$1" --help > /dev/full')
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: 'Standard output cannot be written (ENOSPC), so the output is incomplete.\n',
    })
  })

  it.each([
    ['--help', 0],
    ['replay nobody --json-lines 2> /dev/null', 2],
  ])('keeps the exit code of %s if the reader closes the pipe', async (args, exitCode) => {
    expect(await shell(`{ sleep 0.2; "$0" "$1" ${args}; echo "ended with $?" >&2; } | true`)).toMatchObject({
      stderr: `ended with ${exitCode}\n`,
    })
  })

  it('exits with the exit code of the command', async () => {
    expect(await shell('"$0" "$1" help')).toMatchObject({ exitCode: 0, stderr: '' })
    expect(await shell('"$0" "$1" aply')).toMatchObject({ exitCode: 2, stdout: '' })
  })

  it('reads a workspace file from standard input', async () => {
    const line = `printf 'organizations: []\nx: 1\n' | "$0" "$1" forms dry-run - --from 7d --json-lines`
    const { exitCode, stdout, stderr } = await shell(line)
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining('standard input:2: x  is not a known member'),
    })
    expect(JSON.parse(stdout)).toMatchObject({ type: 'error', faults: [{ line: 2, path: 'x' }] })
  })

  it('refuses --partitions if KAFKA_PARTITIONS is another number', async () => {
    const env = { KAFKA_BROKERS: '127.0.0.1:1', KAFKA_PARTITIONS: '12/24' }
    const { exitCode, stderr } = await nextvisit(['topics', 'create', '--partitions', '12'], env)
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining('--partitions is 12, but KAFKA_PARTITIONS is 24'),
    })
  })

  it('exits with 1 if the log is unavailable, and shows a stack trace only on request', async () => {
    const env = { KAFKA_BROKERS: '127.0.0.1:1' }
    const plain = await nextvisit(['topics', 'create'], env)
    expect(plain).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^No broker .*\n$/) })
    const verbose = await nextvisit(['--verbose', 'topics', 'create'], env)
    expect(verbose.stderr).toContain('    at ')
  })

  it.each(['web, second', 'null'])('creates the key %j and its line for the workspace file', async (name) => {
    const args = ['keys', 'create', '--kind', 'sdk', '--environment', 'T', '--name', name]
    const { exitCode, stdout } = await nextvisit(args)
    expect(exitCode).toBe(0)
    expect(stdout).toContain('Unless the project sets requireUserSignature, anyone can act as any user')
    const key = /nv_\S+/.exec(stdout)?.[0] ?? ''
    expect(parseApiKey(key)).toEqual({ kind: 'sdk', environment: 'T' })
    const line = stdout.split('\n').find((one) => one.startsWith('  - '))
    const project = ['organizations:', '  - id: acme', '    projects:', '      - id: shop', '        keys:']
    const parsed = parseWorkspaceFile([...project, `        ${line}`].join('\n'), {})
    expect(parsed).toMatchObject({
      outcome: 'ok',
      organizations: [{ projects: [{ keys: [{ name, kind: 'sdk', environment: 'T', sha256: hashApiKey(key) }] }] }],
    })
  })

  it('names every error of a file with its line, before it needs the log', async () => {
    const file = path.join(folder, 'faulty.yaml')
    await writeFile(file, 'organizations:\n  - id: Acme\n    plan: { colour: red }\n')
    const { exitCode, stdout, stderr } = await nextvisit(['apply', file])
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    expect(stderr).toContain(`${file}:2: organizations[0].id  must be 1 to 63 of the characters`)
    expect(stderr).toContain(`${file}:3: organizations[0].plan.colour  is not a known member`)
    expect(stderr).toContain('has 2 faults. Nothing was changed.')
  })

  it('resolves file names against the folder where pnpm was called, although pnpm runs it in the checkout root', async () => {
    await writeFile(path.join(folder, 'nearby.yaml'), 'organizations:\n  - id: Acme\n')
    const apply = `NEXTVISIT_DATA=${folder} "$0" "$1" apply nearby.yaml`
    const root = path.resolve(path.dirname(DEMO), '..')
    for (const line of [`cd ${root} && INIT_CWD=${folder} ${apply}`, `cd ${folder} && INIT_CWD=/ ${apply}`]) {
      const { stderr } = await shell(line)
      expect(stderr).toContain('nearby.yaml:2: organizations[0].id  must be 1 to 63 of the characters')
    }
  })

  it('accepts the demo file when its keys are set', async () => {
    const createKey = async (kind: string, environment: string) => {
      const { stdout } = await nextvisit(['keys', 'create', '--kind', kind, '--environment', environment])
      return /nv_\S+/.exec(stdout)?.[0] ?? ''
    }
    const without = await nextvisit(['apply', DEMO])
    expect(without.stderr).toMatch(/demo-workspace\.yaml:\d+: .*the environment variable DEMO_ADMIN_KEY is not set/)
    const ended = await nextvisit(['apply', DEMO], {
      DEMO_ADMIN_KEY: await createKey('admin', 'P'),
      DEMO_SDK_KEY: await createKey('sdk', 'P'),
      DEMO_TEST_ADMIN_KEY: await createKey('admin', 'T'),
      DEMO_TEST_SDK_KEY: await createKey('sdk', 'T'),
    })
    expect(ended.stderr).toContain('KAFKA_BROKERS is not set')
  })

  it('takes settings that the environment lacks from the local stack', async () => {
    const data = await mkdtemp(path.join(folder, 'data-'))
    const connection = {
      kafkaBrokers: '127.0.0.1:1',
      databaseUrls: { metering: 'postgresql://nextvisit_metering:secret@127.0.0.1:2/nextvisit' },
    }
    await writeFile(path.join(data, 'connection.json'), JSON.stringify(connection))
    const { exitCode, stdout } = await nextvisit(['status', '--json'], { NEXTVISIT_DATA: data })
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      log: { status: 'away', because: expect.stringContaining('No broker') },
      consumers: consumers.map(({ name }) => ({
        service: name,
        status: 'away',
        because: expect.stringContaining(name === 'metering' ? 'does not answer at 127.0.0.1:2' : 'is not set'),
      })),
    })
    expect(stdout).not.toContain('secret')
  })

  it('asks for the status despite a malformed NEXTVISIT_SECRET_KEY, which it does not print', async () => {
    const env = { KAFKA_BROKERS: '127.0.0.1:1', NEXTVISIT_SECRET_KEY: `${'ab'.repeat(32)},malformed` }
    const { exitCode, stdout } = await nextvisit(['status', '--json'], env)
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      log: { status: 'away', because: expect.stringContaining('No broker') },
      keyRingFault: 'NEXTVISIT_SECRET_KEY: key 2 must be 64 hexadecimal characters',
    })
    expect(stdout).not.toMatch(/abab|malformed/)
  })
})
