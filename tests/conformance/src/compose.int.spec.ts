import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { compiledCode } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = path.resolve(import.meta.dirname, '../../..')

interface Service {
  readonly image: string
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly environment?: Readonly<Record<string, string | number>>
  readonly env_file?: string
  readonly depends_on?: Readonly<Record<string, object>>
  readonly volumes?: readonly string[]
  readonly user?: string
  readonly ports?: readonly string[]
  readonly read_only?: boolean
  readonly cap_add?: readonly string[]
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly privileged?: boolean
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8')
}

/** Replaces `${NAME:-default}` by the default. */
function withDefaults(_name: unknown, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1') : value
}

/** Reads the file as Compose does if no variable is set. */
function readCompose(): ComposeFile {
  return parse(read('docker-compose.yml'), withDefaults, { merge: true }) as ComposeFile
}

const { services, volumes } = readCompose()
const named = Object.entries(services)
const ours = named.filter(([, { image }]) => image === 'nextvisit')
const processes = ours.filter(([, { command }]) => command?.[0]?.endsWith('/main.ts'))

/** Returns the lines of the configuration error with which a service ends in this environment. */
function faultsOf(main: string, environment: Service['environment']): readonly string[] {
  const env = Object.fromEntries(Object.entries(environment ?? {}).map(([name, value]) => [name, String(value)]))
  const { stderr } = spawnSync(process.execPath, [path.join(ROOT, main)], {
    env: { ...env, ...compiledCode(), LOG_LEVEL: 'none' },
    encoding: 'utf8',
  })
  return stderr.split('\n').filter((line) => line.startsWith('  '))
}

describe('docker-compose.yml', () => {
  it('runs every service', () => {
    const mains = globSync('services/*/src/main.ts', { cwd: ROOT })
    expect(processes.map(([name]) => `services/${name}/src/main.ts`).toSorted()).toEqual(mains.toSorted())
    for (const [name, { command }] of processes) expect(command).toEqual([`services/${name}/src/main.ts`])
  })

  // A service reports all faults at once. It ends because of the log level, before it opens anything.
  it.each(processes)(
    'gives %s every variable that it needs, in the expected form',
    (_name, { command, environment }) => {
      expect(faultsOf(command?.[0] ?? '', environment)).toEqual([expect.stringMatching(/^ {2}LOG_LEVEL is wrong/)])
    },
  )

  it.each(ours)('gives %s only variables that the configuration page describes', (_name, { environment = {} }) => {
    const page = read('docs/reference/configuration.md')
    expect(Object.keys(environment).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  it('builds the image of our services once', () => {
    const builds = named.flatMap(([, { image, build }]) => (build ? { image, ...build } : []))
    expect(builds).toEqual([{ image: 'nextvisit', context: '.', dockerfile: 'infra/Dockerfile' }])
  })

  it('pins the patch version of every other image, which no other file names', () => {
    const others = named.flatMap(([, { image }]) => (image === 'nextvisit' ? [] : image))
    // A patch is the third number of Kafka and Redis, and the second of Postgres.
    const pinned = /^(?:postgres:\d+\.\d+|[\w/]+:\d+\.\d+\.\d+)(?:-[a-z]+)?(?:@sha256:[\da-f]{64})?$/
    for (const image of others) expect(image).toMatch(pinned)
    const names = others.map((image) => image.slice(0, image.indexOf(':')))
    const tagged = new RegExp(`['"\`\\s](?:${names.join('|')}):\\d`)
    const files = globSync('{infra,packages,services,tests,tools}/**/*.{ts,yaml,yml,sh}', {
      cwd: ROOT,
      exclude: ['**/node_modules', '**/generated'],
    })
    expect(files.length).toBeGreaterThan(100)
    expect(files.filter((file) => tagged.test(read(file)))).toEqual([])
  })

  it.each(named)('runs %s without privileges', (_name, service) => {
    const { read_only, cap_add = [], cap_drop, security_opt, privileged = false } = service
    const rights = { read_only, cap_add, cap_drop, security_opt, privileged }
    const none = { cap_add: [], cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'], privileged: false }
    expect(rights).toEqual({ read_only: true, ...none })
  })

  // The images of Kafka and of our services name another user than root themselves.
  it.each(['postgres', 'redis'])('runs %s as its own user', (name) => {
    expect(services[name]?.user).toBe(name)
  })

  it('publishes only the gateway and the console, on loopback', () => {
    const published = named.flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]))
    expect(published).toEqual([
      ['gateway', '127.0.0.1:8080:8080'],
      ['console', '127.0.0.1:8081:8081'],
    ])
  })

  it('lets no container connect to Kafka without its password', () => {
    const settings = new Map(
      Object.entries(services['kafka']?.environment ?? {}).map(([name, value]) => [name, `${value}`]),
    )
    const protocols = new Map(
      settings
        .get('KAFKA_LISTENER_SECURITY_PROTOCOL_MAP')
        ?.split(',')
        .map((pair) => pair.split(':', 2) as [string, string]),
    )
    const listeners =
      settings
        .get('KAFKA_LISTENERS')
        ?.split(',')
        .map((listener) => listener.split('://', 2)) ?? []
    const reachable = listeners.filter(([, address]) => !address?.startsWith('localhost:')).map(([name = '']) => name)
    expect(reachable.map((name) => protocols.get(name))).toEqual(['SASL_PLAINTEXT'])
    const [name] = reachable
    const user = /required user_(\w+)="(.+)";$/.exec(
      settings.get(`KAFKA_LISTENER_NAME_${name}_PLAIN_SASL_JAAS_CONFIG`) ?? '',
    )
    for (const [, { environment = {} }] of ours) {
      expect([environment['KAFKA_SASL_USERNAME'], environment['KAFKA_SASL_PASSWORD']]).toEqual(user?.slice(1))
      expect(environment['KAFKA_SASL_MECHANISM']).toBe('plain')
    }
  })

  it('gives Redis the password that is in its address', () => {
    const { command = [], environment = {} } = services['redis'] ?? {}
    expect(command.join('\n')).toMatch(/^requirepass \$\$REDISCLI_AUTH$/m)
    for (const [, { environment: own = {} }] of ours)
      expect(new URL(String(own['REDIS_URL'])).password).toBe(environment['REDISCLI_AUTH'])
  })

  it('names only files, services and volumes that exist', () => {
    for (const [, service] of named) {
      const { env_file: envFile, build, command = [], entrypoint = [], environment = {} } = service
      const scripts = [...command, ...entrypoint, String(environment['CONSOLE_CLI'] ?? '')].flatMap(
        (text) => text.match(/(?:services|tools)\/[\w/-]+\.ts/g) ?? [],
      )
      const files = [...scripts, envFile ?? [], build?.dockerfile ?? []].flat()
      expect(files.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([])
      expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(service.depends_on ?? {})))
      const mounted = (service.volumes ?? []).map((volume) => volume.split(':')[0])
      expect(Object.keys(volumes)).toEqual(expect.arrayContaining(mounted))
    }
  })
})
