import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = path.resolve(import.meta.dirname, '../../..')

interface Service {
  readonly image?: string
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly environment?: Readonly<Record<string, string | number>>
  readonly env_file?: string
  readonly depends_on?: Readonly<Record<string, object>>
  readonly volumes?: readonly string[]
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
    env: { ...env, LOG_LEVEL: 'none' },
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

  it('builds the image of our services once, and names a version of every other image', () => {
    const builds = named.flatMap(([, { image, build }]) => (build ? { image, ...build } : []))
    expect(builds).toEqual([{ image: 'nextvisit', context: '.', dockerfile: 'infra/Dockerfile' }])
    const others = named.filter(([, { image }]) => image !== 'nextvisit')
    for (const [, { image }] of others) expect(image).toMatch(/^[\w/]+:\d[\d.]*$/)
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
