import { execFile } from 'node:child_process'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { freePort, type OwnedProcess, startOwnedProcess } from '@nextvisit/local-stack'
import { compiledCode } from '@nextvisit/testing'
import { isReady } from '@nextvisit/testing/black-box'
import { CHECKOUT, type Container, hookOf, type KubernetesObject, NAMESPACE, podOf } from './render-chart.ts'

type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>

/** Runs the containers of the chart as processes of this machine, with exactly the variables that the chart gives them. */
export interface ClusterOfProcesses {
  /** Runs the hooks of an event in their order. Returns the output of each by the name of its container. */
  readonly runHooks: (event: string) => Promise<ReadonlyMap<string, string>>
  /** Starts the Deployments, one process each, and waits until all are ready. */
  readonly startDeployments: () => Promise<void>
  /** Address on this machine of a port of a service. */
  readonly urlOf: (service: string, port: 'INTERNAL_PORT' | 'GATEWAY_PORT' | 'CONSOLE_PORT') => string
  /** Stops all processes. Returns how each ended, by service. */
  readonly stop: () => Promise<Readonly<Record<string, string>>>
}

/** The image sets these. */
const OF_IMAGE = { NODE_ENV: 'production' }
const PORT = /^[A-Z]+_PORT$/

/** `secrets`: the values of Secrets by name, as an operator fills them. `folder`: for logs and mounted files. */
export async function clusterOfProcesses(
  objects: readonly KubernetesObject[],
  secrets: Secrets,
  folder: string,
): Promise<ClusterOfProcesses> {
  const deployments = objects.filter(({ kind }) => kind === 'Deployment').map(containerOf)
  // On one machine, all processes have one address: each port of a container becomes a free port.
  const ports = new Map<string, number>()
  for (const { name, env } of deployments) {
    for (const variable of env.filter((own) => PORT.test(own.name)))
      ports.set(`${name} ${variable.name}`, await freePort())
  }
  const portOf = (service: string, variable: string): number => ports.get(`${service} ${variable}`) ?? 0
  const running = new Map<string, OwnedProcess>()

  /** Replaces host and port of the Services that the chart names, which no name server knows here. */
  function withLoopback(value: string): string {
    return value.replaceAll(
      new RegExp(String.raw`//[a-z-]*?nextvisit-([a-z-]+)-processes\.${NAMESPACE}:9100`, 'g'),
      (_name, service: string) => `//127.0.0.1:${portOf(service, 'INTERNAL_PORT')}`,
    )
  }

  function environmentOf({ name: service, env, envFrom = [] }: Container): NodeJS.ProcessEnv {
    const own = env.flatMap(({ name, value, valueFrom }): [string, string][] => {
      if (value !== undefined) return [[name, PORT.test(name) ? String(portOf(service, name)) : withLoopback(value)]]
      const { name: secret = '', key = '', optional = false } = valueFrom?.secretKeyRef ?? {}
      const secretValue = secrets[secret]?.[key]
      if (secretValue !== undefined) return [[name, secretValue]]
      if (optional) return []
      throw new RangeError(`${service} needs ${key} of the Secret ${secret}`)
    })
    const fromSecrets = envFrom.map(({ secretRef }) => secrets[secretRef.name])
    return { ...OF_IMAGE, ...compiledCode(), ...Object.assign({}, ...fromSecrets), ...Object.fromEntries(own) }
  }

  /** Writes the files that a command finds in its ConfigMap. Returns its arguments with their place on this machine. */
  async function argumentsOf({ args, volumeMounts }: Container): Promise<readonly string[]> {
    const files = objects.filter(({ kind }) => kind === 'ConfigMap').flatMap(({ data = {} }) => Object.entries(data))
    const mounts = volumeMounts.map(({ mountPath }) => mountPath)
    const placed = args.map(async (argument) => {
      const mount = mounts.find((one) => argument.startsWith(`${one}/`))
      if (mount === undefined) return argument
      const file = path.join(folder, argument)
      await mkdir(path.dirname(file), { recursive: true })
      await writeFile(file, files.find(([name]) => name === path.basename(argument))?.[1] ?? '')
      return file
    })
    return Promise.all(placed)
  }

  async function runHook(container: Container): Promise<string> {
    // Commands of the image begin with node, in /app.
    const [, entry = ''] = container.command ?? []
    const args = [entry, ...(await argumentsOf(container))]
    const run = promisify(execFile)(process.execPath, args, { cwd: CHECKOUT, env: environmentOf(container) })
    const { stdout } = await run.catch((error: { readonly stdout: string; readonly stderr: string }) => {
      throw new Error(`${container.name} failed\n${error.stdout}${error.stderr}`)
    })
    return stdout
  }

  async function start(container: Container): Promise<void> {
    const { name, args } = container
    const started = await startOwnedProcess({
      name,
      command: process.execPath,
      args,
      cwd: CHECKOUT,
      env: environmentOf(container),
      logFile: path.join(folder, `${name}.log`),
      isReady: () => isReady(`http://127.0.0.1:${portOf(name, 'INTERNAL_PORT')}`),
    })
    running.set(name, started)
  }

  return {
    runHooks: async (event) => {
      const hooks = objects.filter((object) => podOf(object) && hookOf(object)?.split(',').includes(event))
      const outputs = new Map<string, string>()
      for (const hook of hooks.toSorted((one, other) => weightOf(one) - weightOf(other))) {
        const container = containerOf(hook)
        outputs.set(container.name, await runHook(container))
      }
      return outputs
    },
    startDeployments: async () => {
      const started = await Promise.allSettled(deployments.map(start))
      const failed = started.find((outcome) => outcome.status === 'rejected')
      if (failed) throw failed.reason
    },
    urlOf: (service, port) => `http://127.0.0.1:${portOf(service, port)}`,
    stop: async () => {
      const ends = Array.from(running, async ([name, process]): Promise<[string, string]> => {
        await process.stop()
        return [name, await process.exited]
      })
      const ended = Object.fromEntries(await Promise.all(ends))
      running.clear()
      await rm(folder, { recursive: true, force: true })
      return ended
    },
  }
}

function weightOf({ metadata }: KubernetesObject): number {
  return Number(metadata.annotations?.['helm.sh/hook-weight'] ?? 0)
}

function containerOf(object: KubernetesObject): Container {
  const pod = podOf(object)
  if (!pod) throw new RangeError(`${object.kind} has no pod`)
  return pod.containers[0]
}
