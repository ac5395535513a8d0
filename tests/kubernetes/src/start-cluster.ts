import { execFile } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { freePort, type OwnedProcess, startOwnedProcess } from '@nextvisit/local-stack'
import { stringify } from 'yaml'
import type { BuiltPrograms } from './build-programs.ts'
import { operatorEnvironment } from './config.ts'
import { stagesOf } from './stages.ts'

/** A command that hangs must not hang the test. */
const COMMAND_WITHIN_MS = 240_000
/** Fake nodes, each in a zone of its own. */
export const NODES = ['node-a', 'node-b', 'node-c'] as const
/** Line that every pod of KWOK has as its log. */
export const POD_LOG = 'KWOK plays this pod.'

export interface CommandOutput {
  readonly stdout: string
  readonly stderr: string
}

/** A Kubernetes control plane whose nodes and pods are played by KWOK. */
export interface Cluster {
  readonly kubeconfig: string
  /** Folder in which the commands run. Its `infra` is that of the checkout. */
  readonly desk: string
  /** Runs commands of bash, with kubectl and Helm for this cluster. Rejects with their output if one fails. */
  readonly bash: (commands: string, variables?: NodeJS.ProcessEnv) => Promise<CommandOutput>
  readonly kubectl: (args: readonly string[], input?: string) => Promise<CommandOutput>
  readonly helm: (args: readonly string[], input?: string) => Promise<CommandOutput>
  /** The Helm 3 that the test builds. */
  readonly helm3: (args: readonly string[], input?: string) => Promise<CommandOutput>
  readonly stop: () => Promise<void>
}

interface Plan {
  readonly built: BuiltPrograms
  readonly helm: string
  readonly checkout: string
  /** For data, logs and keys. */
  readonly folder: string
}

/** Starts etcd, the API server, all controllers, the scheduler and KWOK, and adds the nodes and the CRDs. */
export async function startCluster({ built, helm, checkout, folder }: Plan): Promise<Cluster> {
  const { programs } = built
  const at = (name: string): string => path.join(folder, name)
  for (const name of ['bin', 'desk', 'home']) await mkdir(at(name))
  await symlink(programs.kubectl, at('bin/kubectl'))
  // A bare name is in the PATH already.
  if (path.isAbsolute(helm)) await symlink(helm, at('bin/helm'))
  await symlink(path.join(checkout, 'infra'), at('desk/infra'))
  const [clients, peers, api, kubelet] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const kubeconfig = at('kubeconfig')
  const token = randomBytes(24).toString('hex')
  await writeKeys(at, token, `https://127.0.0.1:${api}`)
  await writeFile(at('stages.yaml'), await stagesOf(built.kwokSource, at('pod.log')))
  // KWOK reads the format of the container runtimes only.
  await writeFile(at('pod.log'), `${new Date().toISOString()} stdout F ${POD_LOG}\n`)

  const env = operatorEnvironment(at('bin'), kubeconfig, at('home'))
  const run =
    (command: string) =>
    async (args: readonly string[], input = '', variables: NodeJS.ProcessEnv = {}): Promise<CommandOutput> => {
      const running = promisify(execFile)(command, args, {
        cwd: at('desk'),
        env: { ...env, ...variables },
        maxBuffer: 2 ** 27,
        timeout: COMMAND_WITHIN_MS,
      })
      running.child.stdin?.end(input)
      return running.catch((error: CommandOutput & { readonly killed?: boolean }) => {
        const late = error.killed === true ? ` (ended after ${COMMAND_WITHIN_MS / 1_000} s)` : ''
        throw new Error(`${path.basename(command)} ${args.join(' ')}${late}\n${error.stdout}${error.stderr}`)
      })
    }
  const kubectl = run(programs.kubectl)
  const bash = run('bash')

  const processes: OwnedProcess[] = []
  const start = async (name: string, command: string, args: string[], isReady?: () => Promise<boolean>) => {
    processes.unshift(await startOwnedProcess({ name, command, args, logFile: at(`${name}.log`), isReady }))
  }
  const answers = (): Promise<boolean> =>
    kubectl(['get', '--raw', '/readyz']).then(
      () => true,
      () => false,
    )
  const stop = async (): Promise<void> => {
    for (const process of processes) await process.stop()
  }
  try {
    await start('etcd', programs.etcd, etcdArguments(at('etcd'), clients, peers))
    await start('kube-apiserver', programs['kube-apiserver'], apiArguments(at, api, clients), answers)
    await Promise.all([
      start('kube-controller-manager', programs['kube-controller-manager'], [
        `--kubeconfig=${kubeconfig}`,
        `--root-ca-file=${at('certificates/apiserver.crt')}`,
        `--service-account-private-key-file=${at('accounts.key')}`,
        '--leader-elect=false',
        '--secure-port=0',
      ]),
      start('kube-scheduler', programs['kube-scheduler'], [
        `--kubeconfig=${kubeconfig}`,
        '--leader-elect=false',
        '--secure-port=0',
      ]),
      start('kwok', programs.kwok, [
        `--kubeconfig=${kubeconfig}`,
        `--config=${at('stages.yaml')}`,
        '--manage-all-nodes=true',
        '--node-ip=127.0.0.1',
        `--node-port=${kubelet}`,
        `--server-address=127.0.0.1:${kubelet}`,
        `--tls-cert-file=${at('certificates/apiserver.crt')}`,
        `--tls-private-key-file=${at('certificates/apiserver.key')}`,
        '--cidr=10.20.0.1/16',
        '--node-lease-duration-seconds=40',
      ]),
    ])
    await kubectl(['apply', '-f', '-'], NODES.map(nodeCalled).join('---\n'))
    await addCrds(built.crds, kubectl)
    await kubectl(['wait', 'node', '--all', '--for=condition=Ready', '--timeout=60s'])
  } catch (error) {
    await stop()
    throw error
  }
  return {
    kubeconfig,
    desk: at('desk'),
    bash: (commands, variables) => bash(['-euo', 'pipefail', '-c', commands], '', variables),
    kubectl,
    helm: run(helm),
    helm3: run(programs.helm3),
    stop,
  }
}

/** Writes the key of service accounts, the token of the administrator, and the kubeconfig for it. */
async function writeKeys(at: (name: string) => string, token: string, server: string): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const secret = { mode: 0o600 }
  await writeFile(at('accounts.key'), privateKey, secret)
  await writeFile(at('accounts.pub'), publicKey)
  await writeFile(at('tokens.csv'), `${token},admin,admin,"system:masters"\n`, secret)
  const name = 'test'
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster: { server, 'certificate-authority': at('certificates/apiserver.crt') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  }
  await writeFile(at('kubeconfig'), stringify(kubeconfig), secret)
}

function etcdArguments(data: string, clients: number, peers: number): string[] {
  return [
    `--data-dir=${data}`,
    `--listen-client-urls=http://127.0.0.1:${clients}`,
    `--advertise-client-urls=http://127.0.0.1:${clients}`,
    `--listen-peer-urls=http://127.0.0.1:${peers}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peers}`,
    `--initial-cluster=default=http://127.0.0.1:${peers}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ]
}

/** The admission plugins are the default ones, those of pod security and of service accounts among them. */
function apiArguments(at: (name: string) => string, port: number, etcd: number): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${at('certificates')}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${at('accounts.pub')}`,
    `--service-account-signing-key-file=${at('accounts.key')}`,
    `--token-auth-file=${at('tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--endpoint-reconciler-type=none',
    '--kubelet-preferred-address-types=InternalIP',
  ]
}

/** The labels that the values of the specs select. */
function nodeCalled(name: string): string {
  const resources = { cpu: '32', memory: '128Gi', pods: '250' }
  return stringify({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: {
        type: 'kwok',
        pool: 'feedback',
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/os': 'linux',
        'kubernetes.io/hostname': name,
        'topology.kubernetes.io/zone': name.replace('node', 'zone'),
      },
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
    },
    status: { allocatable: resources, capacity: resources },
  })
}

async function addCrds(files: readonly string[], kubectl: Cluster['kubectl']): Promise<void> {
  // Server-side: the largest do not fit into the annotation of a client's.
  await kubectl(['apply', '--server-side', ...files.flatMap((file) => ['-f', file])])
  const { stdout } = await kubectl(['get', 'crd', '-o', 'name'])
  await kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...stdout.trim().split('\n')])
}
