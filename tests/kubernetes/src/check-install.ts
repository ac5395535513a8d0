import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { type Context, GUIDE, REPLICAS } from './context.ts'
import { componentOf, type Event, isReady, type Pod, readObjects, readPods } from './read-objects.ts'
import { type Cluster, POD_LOG } from './start-cluster.ts'

const { namespace, release } = GUIDE

/** Installs the chart with the commands and values of the guide, and nothing else. */
export async function checkInstall({ cluster, guide, checks: { check, section } }: Context): Promise<void> {
  await section('Install, with the commands of docs/guides/kubernetes.md', async () => {
    await check('the commands of the guide create a restricted namespace and the Secret', async () => {
      await cluster.bash(guide.commands('Install', 'kubectl create namespace'))
      await cluster.bash(guide.commands('Install', 'kubectl create secret'))
    })
    await check('its command prints the token for the console', async () => {
      const { stdout } = await cluster.bash(guide.commands('Install', 'kubectl get secret'))
      assert.match(stdout, /^[0-9a-f]{48}$/)
    })
    await writeFile(path.join(cluster.desk, 'values.yaml'), guide.values('Install'))
    let notes = ''
    await check('helm install succeeds without a warning, and waits until all pods are ready', async () => {
      const { stdout, stderr } = await cluster.bash(guide.commands('Install', 'helm install'))
      notes = stdout
      assert.doesNotMatch(stdout + stderr, /warning/i)
    })
    await check('its notes name the connections of Postgres', async () => {
      assert.match(notes, /max_connections` of at least 300/)
    })
    await check('every service has its processes, and all are ready', async () => {
      assert.deepEqual(readyPods(await readPods(cluster, namespace, release)), REPLICAS)
    })
    await check('the Jobs migrate and topics completed one after the other, before the first process started', () =>
      hooksCameFirst(cluster),
    )
    await check('completed Jobs are removed', async () => {
      assert.deepEqual(await readObjects(cluster, namespace, 'jobs'), [])
    })
    await check('helm test passes, and prints the log of its pod', async () => {
      const { stdout } = await cluster.bash(guide.commands('Install', 'helm test'))
      assert.match(stdout, /Phase:\s+Succeeded/)
      assert.ok(stdout.includes(POD_LOG), stdout)
    })
    await check('no pod has a token of a ServiceAccount', async () => {
      for (const pod of await readPods(cluster, namespace, release)) {
        assert.equal(pod.spec.automountServiceAccountToken, false)
        assert.deepEqual(tokensIn(pod), [], pod.metadata.name)
      }
    })
    await check('every key of a Secret that a process reads is in the Secret of the guide', () => keysExist(cluster))
    await check('the scheduler puts the processes of a service on different nodes', async () => {
      const pods = await readPods(cluster, namespace, release)
      for (const [service, replicas] of Object.entries(REPLICAS)) {
        const nodes = new Set(pods.filter((pod) => componentOf(pod) === service).map(({ spec }) => spec.nodeName))
        assert.equal(nodes.size, Math.min(replicas, 3), `${service} runs on ${[...nodes].join(', ')}`)
      }
    })
    await check('the name of each service resolves to all its processes (EndpointSlices)', async () => {
      for (const [service, replicas] of Object.entries(REPLICAS))
        assert.equal(
          (await addressesOf(cluster, namespace, `nextvisit-${service}-processes`)).length,
          replicas,
          service,
        )
    })
    await check('the namespace refuses a pod that is not restricted, so these checks show that ours are', async () => {
      await assert.rejects(
        cluster.kubectl(['run', 'unrestricted', '--image=nextvisit', '--namespace', namespace]),
        /violates PodSecurity "restricted/,
      )
    })
    await check('a pod of a default account would get a token, so these checks show that ours get none', async () => {
      const { stdout } = await cluster.kubectl([
        'run',
        'with-token',
        '--image=nextvisit',
        '--namespace=default',
        '--dry-run=server',
        '-o',
        'json',
      ])
      assert.equal(tokensIn(JSON.parse(stdout) as Pod).length, 1)
    })
  })
}

/** Returns the number of ready pods of each service. */
export function readyPods(pods: readonly Pod[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const pod of pods.filter(isReady)) counts[componentOf(pod)] = (counts[componentOf(pod)] ?? 0) + 1
  return counts
}

/** Reads the addresses behind a Service. */
export async function addressesOf(cluster: Cluster, of: string, service: string): Promise<readonly string[]> {
  const selected = ['--namespace', of, '--selector', `kubernetes.io/service-name=${service}`]
  const members = ['-o', 'jsonpath={.items[*].endpoints[*].addresses[0]}']
  const { stdout } = await cluster.kubectl(['get', 'endpointslices', ...selected, ...members])
  return stdout.split(' ').filter((address) => address !== '')
}

function tokensIn({ spec }: Pod): readonly object[] {
  const sources = (spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? [])
  return sources.filter((source) => 'serviceAccountToken' in source)
}

async function hooksCameFirst(cluster: Cluster): Promise<void> {
  const events = await readObjects<Event>(cluster, namespace, 'events')
  const at = (isIt: (event: Event) => boolean): number[] =>
    events.filter(isIt).map(({ metadata }) => Number(metadata.resourceVersion))
  const completed = (name: string): number => {
    const [first] = at(({ involvedObject, reason }) => involvedObject.name === name && reason === 'Completed')
    assert.ok(first, `${name} did not complete`)
    return first
  }
  const starts = at(
    ({ involvedObject, reason }) => involvedObject.kind === 'Deployment' && reason === 'ScalingReplicaSet',
  )
  assert.equal(starts.length, Object.keys(REPLICAS).length)
  assert.ok(completed('nextvisit-migrate') < completed('nextvisit-topics'))
  assert.ok(completed('nextvisit-topics') < Math.min(...starts))
}

async function keysExist(cluster: Cluster): Promise<void> {
  const { stdout } = await cluster.kubectl(['get', 'secret', 'nextvisit', '--namespace', namespace, '-o', 'json'])
  const keys = Object.keys((JSON.parse(stdout) as { readonly data: object }).data)
  for (const { metadata, spec } of await readPods(cluster, namespace, release)) {
    for (const { valueFrom } of spec.containers.flatMap(({ env = [] }) => env)) {
      const wanted = valueFrom?.secretKeyRef
      if (wanted && wanted.optional !== true)
        assert.ok(wanted.name === 'nextvisit' && keys.includes(wanted.key), `${metadata.name} lacks ${wanted.key}`)
    }
  }
}
