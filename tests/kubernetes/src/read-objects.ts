import type { Cluster } from './start-cluster.ts'

export interface StoredObject {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
}

export interface Pod extends StoredObject {
  readonly spec: {
    readonly nodeName?: string
    readonly serviceAccountName: string
    readonly automountServiceAccountToken?: boolean
    readonly volumes?: readonly {
      readonly name: string
      readonly projected?: { readonly sources: readonly object[] }
    }[]
    readonly containers: readonly {
      readonly env?: readonly {
        readonly name: string
        readonly valueFrom?: {
          readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean }
        }
      }[]
    }[]
  }
  readonly status: {
    readonly phase: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

export interface Deployment extends StoredObject {
  readonly spec: { readonly replicas: number }
  readonly status: { readonly readyReplicas?: number; readonly updatedReplicas?: number; readonly replicas?: number }
}

export interface Event extends StoredObject {
  readonly reason: string
  readonly message: string
  readonly involvedObject: { readonly kind: string; readonly name: string }
}

/** Reads objects of a kind. `args`: `--selector` and other arguments of `kubectl get`. */
export async function readObjects<T extends StoredObject>(
  cluster: Cluster,
  namespace: string,
  kind: string,
  ...args: readonly string[]
): Promise<readonly T[]> {
  const { stdout } = await cluster.kubectl(['get', kind, '--namespace', namespace, '-o', 'json', ...args])
  return (JSON.parse(stdout) as { readonly items: readonly T[] }).items
}

/** Returns the service or command of an object. */
export function componentOf({ metadata }: StoredObject): string {
  return metadata.labels?.['app.kubernetes.io/component'] ?? ''
}

export function isReady({ metadata, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    status.phase === 'Running' &&
    (status.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True')
  )
}

/** Reads the pods of a release's service. */
export function readPods(cluster: Cluster, namespace: string, release: string, service?: string) {
  const labels = [`app.kubernetes.io/instance=${release}`]
  if (service !== undefined) labels.push(`app.kubernetes.io/component=${service}`)
  return readObjects<Pod>(cluster, namespace, 'pods', '--selector', labels.join(','))
}

/** Reads the number of each Deployment's template, by service: a higher one means that its pods were replaced. */
export async function readTemplates(cluster: Cluster, namespace: string): Promise<ReadonlyMap<string, string>> {
  const deployments = await readObjects<Deployment>(cluster, namespace, 'deployments')
  return new Map(
    deployments.map((one) => [
      one.metadata.name,
      one.metadata.annotations?.['deployment.kubernetes.io/revision'] ?? '',
    ]),
  )
}

/** Returns the names whose value differs. */
export function changedBetween(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((name) => before.get(name) !== after.get(name)).toSorted()
}

/** Lists all objects of a namespace as `kind/name`, but for what every change leaves: events and revisions. */
export async function listObjects(cluster: Cluster, namespace: string): Promise<readonly string[]> {
  const kinds = await cluster.kubectl(['api-resources', '--namespaced', '--verbs=list', '-o', 'name'])
  const listed = kinds.stdout
    .trim()
    .split('\n')
    .filter((kind) => !/^(events(\.events\.k8s\.io)?|endpoints|leases\.coordination\.k8s\.io)$/.test(kind))
  const { stdout } = await cluster.kubectl(['get', listed.join(','), '--namespace', namespace, '-o', 'name'])
  return stdout.trim().split('\n').toSorted()
}
