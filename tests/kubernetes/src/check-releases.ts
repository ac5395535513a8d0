import assert from 'node:assert/strict'
import { EVERYTHING } from '@nextvisit/chart/values'
import { eventually } from '@nextvisit/testing/black-box'
import { readyPods } from './check-install.ts'
import { CHART, type Context, GUIDE, REPLICAS } from './context.ts'
import { listObjects, readObjects, readPods, readTemplates } from './read-objects.ts'
import { FAILS } from './stages.ts'
import type { Cluster } from './start-cluster.ts'

const { namespace, release } = GUIDE
const WITHIN_MS = 60_000
const WAIT = ['--values', 'values.yaml', '--wait', '--timeout', '3m']

/** Shows other releases beside that of the guide: a second one, one with everything, a failed one, and those of Helm 3. */
export async function checkReleases({ cluster, guide, checks: { check, section } }: Context): Promise<void> {
  await section('Two releases', async () => {
    const before = await readTemplates(cluster, namespace)
    await check('a second one in the same namespace starts, and leaves the first as it is', async () => {
      await cluster.helm(['install', 'other', CHART, '--namespace', namespace, ...WAIT])
      assert.deepEqual(readyPods(await readPods(cluster, namespace, 'other')), REPLICAS)
      assert.deepEqual(readyPods(await readPods(cluster, namespace, release)), REPLICAS)
      const after = await readTemplates(cluster, namespace)
      for (const [name, revision] of before) assert.equal(after.get(name), revision, name)
    })
    await check('no Service or budget of one selects a pod of the other', async () => {
      const selectors = [...(await selectorsIn(cluster, 'services')), ...(await selectorsIn(cluster, 'pdb'))]
      for (const { name, selector } of selectors) {
        const selected = ['--namespace', namespace, '--selector', selector]
        const members = ['-o', String.raw`jsonpath={.items[*].metadata.labels.app\.kubernetes\.io/instance}`]
        const { stdout } = await cluster.kubectl(['get', 'pods', ...selected, ...members])
        const owner = name.startsWith('other-') ? 'other' : release
        assert.deepEqual([...new Set(stdout.split(' '))], [owner], name)
      }
    })
    await check('its removal leaves the first as it is', async () => {
      await cluster.helm(['uninstall', 'other', '--namespace', namespace, '--wait', '--timeout', '2m'])
      assert.deepEqual(readyPods(await readPods(cluster, namespace, release)), REPLICAS)
      assert.deepEqual(await readTemplates(cluster, namespace), before)
    })
    await check('one of the same name starts in another namespace', async () => {
      await givenNamespace(cluster, 'second')
      await cluster.helm(['install', release, CHART, '--namespace', 'second', ...WAIT])
      assert.deepEqual(readyPods(await readPods(cluster, 'second', release)), REPLICAS)
      await cluster.helm(['uninstall', release, '--namespace', 'second', '--wait', '--timeout', '2m'])
    })
  })

  await section('Everything at once', async () => {
    await givenNamespace(cluster, 'everything')
    // Nothing here gives a load balancer its address, for which Helm waits.
    const gatewayService = { ...EVERYTHING.gatewayService, type: 'NodePort' }
    const values = { ...EVERYTHING, commands: { enabled: true }, gatewayService }
    const options = ['--namespace', 'everything', '--values', '-', '--wait', '--timeout', '3m']
    // The autoscaler of the controllers adds the second gateway, within a quarter of a minute.
    const autoscaled = {
      ...Object.fromEntries(Object.keys(REPLICAS).map((name) => [name, 1])),
      commands: 1,
      gateway: 2,
    }
    await check(
      'a release with every optional object starts, in a namespace that enforces restricted pods',
      async () => {
        await cluster.helm(['install', 'all', CHART, ...options], JSON.stringify(values))
        const ready = async () => readyPods(await readPods(cluster, 'everything', 'all'))
        assert.deepEqual(await eventually(ready, ({ gateway }) => gateway === 2, WITHIN_MS, 1_000), autoscaled)
      },
    )
    await check('its objects are in the cluster', async () => {
      const kinds = (await listObjects(cluster, 'everything')).map((name) => name.split('/')[0])
      for (const kind of OPTIONAL) assert.ok(kinds.includes(kind), `no ${kind} among ${[...new Set(kinds)].join(', ')}`)
    })
    await check('an upgrade without a change replaces no process', async () => {
      const before = await readTemplates(cluster, 'everything')
      await cluster.helm(['upgrade', 'all', CHART, ...options], JSON.stringify(values))
      assert.deepEqual(await readTemplates(cluster, 'everything'), before)
    })
    await check('helm uninstall leaves the ExternalSecret, which is a hook', async () => {
      await cluster.helm(['uninstall', 'all', '--namespace', 'everything', '--wait', '--timeout', '2m'])
      assert.deepEqual(await leftIn(cluster, 'everything', 2), [
        'externalsecret.external-secrets.io/nextvisit',
        'secret/nextvisit',
      ])
    })
  })

  await section('A Job that fails', async () => {
    await givenNamespace(cluster, 'mended')
    const options = ['--namespace', 'mended', ...WAIT]
    await check('the installation fails, and starts no process', async () => {
      const broken = ['--set-string', `defaults.podAnnotations.${FAILS.replace('.', String.raw`\.`)}=true`]
      await assert.rejects(
        cluster.helm(['install', release, CHART, ...options, ...broken, '--set', 'migrate.timeoutSeconds=8']),
        /failed/,
      )
      assert.deepEqual(await readObjects(cluster, 'mended', 'deployments'), [])
    })
    await check('the Job stays for kubectl logs', async () => {
      const jobs = await readObjects(cluster, 'mended', 'jobs')
      assert.deepEqual(
        jobs.map(({ metadata }) => metadata.name),
        ['nextvisit-migrate'],
      )
    })
    await check('helm upgrade --install mends it', async () => {
      await cluster.helm(['upgrade', '--install', release, CHART, ...options])
      assert.deepEqual(readyPods(await readPods(cluster, 'mended', release)), REPLICAS)
      assert.deepEqual(await readObjects(cluster, 'mended', 'jobs'), [])
      await cluster.helm(['uninstall', release, '--namespace', 'mended', '--wait', '--timeout', '2m'])
    })
  })

  await section('Helm 3', async () => {
    await givenNamespace(cluster, 'helm3')
    const options = ['--namespace', 'helm3', ...WAIT]
    await check('installs, upgrades, rolls back', async () => {
      await cluster.helm3(['install', release, CHART, ...options])
      assert.deepEqual(readyPods(await readPods(cluster, 'helm3', release)), REPLICAS)
      await cluster.helm3(['upgrade', release, CHART, ...options, '--set', 'services.metering.replicas=3'])
      assert.deepEqual(readyPods(await readPods(cluster, 'helm3', release)), { ...REPLICAS, metering: 3 })
      await cluster.helm3(['rollback', release, '--namespace', 'helm3', '--wait', '--timeout', '2m'])
      assert.deepEqual(readyPods(await readPods(cluster, 'helm3', release)), REPLICAS)
    })
    await check('a newer Helm upgrades its release, and replaces no process', async () => {
      const before = await readTemplates(cluster, 'helm3')
      await cluster.helm(['upgrade', release, CHART, ...options])
      assert.deepEqual(await readTemplates(cluster, 'helm3'), before)
    })
    await check('uninstalls', async () => {
      await cluster.helm3(['uninstall', release, '--namespace', 'helm3', '--wait', '--timeout', '2m'])
      assert.deepEqual(await leftIn(cluster, 'helm3', 1), ['secret/nextvisit'])
    })
  })

  await section('Uninstall', async () => {
    await check('helm uninstall leaves what the guide names', async () => {
      await cluster.bash(guide.commands('Install', 'helm test'))
      await cluster.helm(['uninstall', release, '--namespace', namespace, '--wait', '--timeout', '2m'])
      assert.deepEqual(await leftIn(cluster, namespace, 3), [
        'pod/nextvisit-status',
        'secret/nextvisit',
        'secret/nextvisit-keys',
      ])
    })
  })
}

/** Every namespace has these. */
const OF_NAMESPACE = ['configmap/kube-root-ca.crt', 'serviceaccount/default']

const OPTIONAL = [
  'externalsecret.external-secrets.io',
  'horizontalpodautoscaler.autoscaling',
  'httproute.gateway.networking.k8s.io',
  'ingress.networking.k8s.io',
  'networkpolicy.networking.k8s.io',
  'persistentvolumeclaim',
  'poddisruptionbudget.policy',
  'prometheusrule.monitoring.coreos.com',
  'scaledobject.keda.sh',
  'servicemonitor.monitoring.coreos.com',
  'triggerauthentication.keda.sh',
] as const

/** Creates a namespace as the guide does, with the Secret of the first one. */
async function givenNamespace(cluster: Cluster, name: string): Promise<void> {
  await cluster.kubectl(['create', 'namespace', name])
  await cluster.kubectl(['label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted'])
  const { stdout } = await cluster.kubectl(['get', 'secret', 'nextvisit', '--namespace', namespace, '-o', 'json'])
  const { data } = JSON.parse(stdout) as { readonly data: object }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'nextvisit', namespace: name }, data }
  await cluster.kubectl(['create', '-f', '-'], JSON.stringify(secret))
}

async function selectorsIn(cluster: Cluster, kind: string) {
  const { stdout } = await cluster.kubectl(['get', kind, '--namespace', namespace, '-o', 'json'])
  const { items } = JSON.parse(stdout) as {
    readonly items: readonly {
      readonly metadata: { readonly name: string }
      readonly spec: { readonly selector: Readonly<Record<string, string>> & { readonly matchLabels?: object } }
    }[]
  }
  return items.map(({ metadata, spec }) => {
    const labels = Object.entries(spec.selector.matchLabels ?? spec.selector)
    return { name: metadata.name, selector: labels.map(([key, value]) => `${key}=${value}`).join(',') }
  })
}

/** Lists the objects that are left after the garbage collection, but for those of every namespace. */
async function leftIn(cluster: Cluster, name: string, expected: number): Promise<readonly string[]> {
  const ask = async () => (await listObjects(cluster, name)).filter((object) => !OF_NAMESPACE.includes(object))
  return eventually(ask, ({ length }) => length <= expected, WITHIN_MS, 1_000)
}
