import { execFile, spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { constants, getPriority, setPriority } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { cached, cacheFolder, StackError } from '@nextvisit/local-stack'
import { goEnvironment } from './config.ts'

/** Versions of what is built. Those of etcd and Kubernetes are in the go.mod of `modules`, too. */
export const VERSIONS = { kubernetes: '1.37.2', etcd: '3.7.3', kwok: '0.8.0', helm3: '3.22.0' } as const

/** Modules whose zips contain the CRDs of the chart's optional objects, and the files of these CRDs. */
const CRDS = [
  {
    module: 'github.com/kedacore/keda/v2@v2.21.0',
    files: ['keda.sh_scaledobjects.yaml', 'keda.sh_triggerauthentications.yaml'],
    folder: 'config/crd/bases',
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    files: ['monitoring.coreos.com_prometheusrules.yaml', 'monitoring.coreos.com_servicemonitors.yaml'],
    folder: 'example/prometheus-operator-crd',
  },
  {
    module: 'github.com/external-secrets/external-secrets@v1.3.2',
    files: ['external-secrets.io_externalsecrets.yaml'],
    folder: 'config/crds/bases',
  },
  {
    module: 'sigs.k8s.io/gateway-api@v1.4.1',
    files: ['gateway.networking.k8s.io_httproutes.yaml'],
    folder: 'config/crd/standard',
  },
]

/** Least minor version of Go 1, as the go.mod of Kubernetes wants it. */
const GO_MINOR = 26
const MODULES = path.resolve(import.meta.dirname, '../modules')
const TELL_EVERY_MS = 30_000
const LOW = Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL)
const run = promisify(execFile)

type ProgramName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubectl'
  | 'kwok'
  | 'helm3'

interface Program {
  readonly name: ProgramName
  readonly version: string
  /** Seconds on two cores, with the downloads. */
  readonly usualSeconds: number
  /** Folder in `modules` whose go.mod pins what is built; undefined: the module has no `replace`, so Go takes its own. */
  readonly pinnedBy?: string
  readonly from: string
}

const PROGRAMS: readonly Program[] = [
  { name: 'etcd', version: VERSIONS.etcd, usualSeconds: 30, pinnedBy: 'etcd', from: 'go.etcd.io/etcd/server/v3' },
  ofKubernetes('kube-apiserver', 540),
  ofKubernetes('kube-controller-manager', 120),
  ofKubernetes('kube-scheduler', 60),
  ofKubernetes('kubectl', 40),
  { name: 'kwok', version: VERSIONS.kwok, usualSeconds: 60, from: 'sigs.k8s.io/kwok/cmd/kwok' },
  { name: 'helm3', version: VERSIONS.helm3, usualSeconds: 90, from: 'helm.sh/helm/v3/cmd/helm' },
]

export interface BuiltPrograms {
  readonly programs: Readonly<Record<ProgramName, string>>
  /** YAML files of the CRDs of the chart's optional objects. */
  readonly crds: readonly string[]
  /** The source of KWOK, which contains its stages of pods and nodes. */
  readonly kwokSource: string
}

/** Builds the programs that the cache lacks, and tells their progress. Rejects with a StackError that names the remedy. */
export async function buildPrograms(tell: (line: string) => void): Promise<BuiltPrograms> {
  await requireGo()
  const missing = PROGRAMS.filter((program) => !existsSync(folderOf(program)))
  if (missing.length > 0) {
    const minutes = Math.ceil(missing.reduce((sum, { usualSeconds }) => sum + usualSeconds, 0) / 60)
    tell(
      `Builds ${missing.length} of ${PROGRAMS.length} programs from Go modules, in about ${minutes} min on two idle cores. ` +
        `They stay in ${cacheFolder()}, so this happens once.`,
    )
  }
  const built: [ProgramName, string][] = []
  for (const program of PROGRAMS) built.push([program.name, await build(program, tell)])
  const [kwokSource = '', ...sources] = await Promise.all(
    [`sigs.k8s.io/kwok@v${VERSIONS.kwok}`, ...CRDS.map(({ module }) => module)].map(sourceOf),
  )
  return {
    programs: Object.fromEntries(built) as Record<ProgramName, string>,
    crds: CRDS.flatMap(({ folder, files }, index) =>
      files.map((name) => path.join(sources[index] ?? '', folder, name)),
    ),
    kwokSource,
  }
}

function ofKubernetes(name: ProgramName, usualSeconds: number): Program {
  const from = `k8s.io/kubernetes/cmd/${name}`
  return { name, version: VERSIONS.kubernetes, usualSeconds, pinnedBy: 'kubernetes', from }
}

function nameIn({ name, version }: Program): string {
  return `${name}-${version}-${process.platform}-${process.arch}`
}

function folderOf(program: Program): string {
  return path.join(cacheFolder(), nameIn(program))
}

async function build(program: Program, tell: (line: string) => void): Promise<string> {
  const { name, version } = program
  const file = path.join(folderOf(program), name)
  if (existsSync(file)) {
    const { birthtime } = await stat(file)
    tell(`✓ ${name} ${version}, built on ${birthtime.toISOString().slice(0, 10)} in ${await lastTime(program)}`)
    return file
  }
  const startedAt = performance.now()
  const seconds = (): number => Math.round((performance.now() - startedAt) / 1_000)
  const last = await lastTime(program)
  const usual = `usually takes ${spoken(program.usualSeconds)} on two idle cores`
  tell(`  … ${name} ${version}: building, which ${last === undefined ? usual : `took ${last} the last time`}`)
  await cached(nameIn(program), async (folder) => {
    await compile(program, path.join(folder, name), (compiled) =>
      tell(`  … ${name}: ${compiled} packages after ${spoken(seconds())}`),
    )
    await writeFile(path.join(folder, 'took-seconds'), String(seconds()))
  })
  tell(`✓ ${name} ${version}, built in ${spoken(seconds())}`)
  return file
}

/** Returns how long the newest build of a program took; undefined if none was built here. */
async function lastTime({ name }: Program): Promise<string | undefined> {
  const folders = await readdir(cacheFolder()).catch(() => [])
  const times = folders
    .filter((folder) => folder.startsWith(`${name}-`) && /^\d/.test(folder.slice(name.length + 1)))
    .toSorted()
    .map((folder) => readFile(path.join(cacheFolder(), folder, 'took-seconds'), 'utf8').catch(() => undefined))
  const newest = (await Promise.all(times)).findLast((time) => time !== undefined)
  return newest === undefined ? undefined : spoken(Number(newest))
}

function spoken(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes === 0) return `${seconds} s`
  return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`
}

/** Compiles a program. Reports the number of compiled packages now and then. */
async function compile(program: Program, file: string, report: (compiled: number) => void): Promise<void> {
  const { name, version, pinnedBy, from } = program
  const linked = ['-ldflags', pinnedBy === 'kubernetes' ? `-s -w ${kubernetesVersion(version)}` : '-s -w']
  const folder = path.dirname(file)
  // Without a go.mod, `go install` takes that of the module itself, and names the program after its folder.
  const args =
    pinnedBy === undefined
      ? ['install', '-v', ...linked, `${from}@v${version}`]
      : ['build', '-v', '-mod=readonly', ...linked, '-o', file, from]
  const cwd = pinnedBy === undefined ? folder : path.join(MODULES, pinnedBy)
  const going = spawn('go', args, {
    cwd,
    env: { ...goEnvironment(), GOBIN: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (going.pid !== undefined) setPriority(going.pid, LOW)
  const stop = (): void => {
    going.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', stop)
  let compiled = 0
  const problems: string[] = []
  for (const input of [going.stdout, going.stderr])
    createInterface({ input }).on('line', (line) => {
      if (/^[\w.-]+(\/[\w.-]+)*$/.test(line)) compiled += 1
      else if (!line.startsWith('go: downloading ')) problems.push(line)
    })
  const teller = setInterval(() => report(compiled), TELL_EVERY_MS)
  const code = await new Promise<number | null>((resolve) => going.once('close', resolve))
  clearInterval(teller)
  process.removeListener('exit', stop)
  if (code !== 0)
    throw new StackError('STEP_FAILED', `Go could not build ${name} ${version}:\n${problems.slice(-20).join('\n')}`)
  const installed = path.join(folder, path.basename(from))
  if (pinnedBy === undefined && installed !== file) await run('mv', [installed, file])
}

/** Without it, clients meet a version that is none. */
function kubernetesVersion(version: string): string {
  const [major, minor] = version.split('.')
  const at = 'k8s.io/component-base/version'
  return `-X ${at}.gitVersion=v${version} -X ${at}.gitMajor=${major} -X ${at}.gitMinor=${minor}`
}

/** Downloads a module, whose checksum Go verifies. Returns its folder. */
async function sourceOf(module: string): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', module], {
    cwd: cacheFolder(),
    env: goEnvironment(),
  }).catch((error: { readonly stdout: string; readonly stderr: string }) => {
    throw new StackError('DOWNLOAD_FAILED', `Go could not download ${module}:\n${error.stdout}${error.stderr}`)
  })
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir
}

async function requireGo(): Promise<void> {
  const found = await run('go', ['env', 'GOVERSION'], { env: goEnvironment() }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  )
  const minor = Number(/^go1\.(\d+)/.exec(found ?? '')?.[1])
  if (minor >= GO_MINOR) return
  throw new StackError(
    'REQUIREMENT_MISSING',
    `This test builds Kubernetes ${VERSIONS.kubernetes} from source, which needs Go 1.${GO_MINOR} or later; the PATH has ${found ?? 'no go'}. Install it (https://go.dev/doc/install), so that go is in the PATH.`,
  )
}
