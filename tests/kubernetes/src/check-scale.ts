import assert from 'node:assert/strict'
import { consumers } from '@nextvisit/services'
import { eventually } from '@nextvisit/testing/black-box'
import { addressesOf, readyPods } from './check-install.ts'
import { upgrade } from './check-upgrade.ts'
import { type Context, GUIDE, REPLICAS } from './context.ts'
import { type Deployment, isReady, readObjects, readPods, type StoredObject } from './read-objects.ts'
import { type Cluster, NODES } from './start-cluster.ts'

const { namespace, release } = GUIDE
const WITHIN_MS = 60_000
const THREE = ['--set', 'services.metering.replicas=3']
const KEDA = ['--set', 'keda.enabled=true']

/** Scales the release of the guide, and evicts pods against its disruption budgets. */
export async function checkScale({ cluster, guide, checks: { check, section } }: Context): Promise<void> {
  const meterings = () => readPods(cluster, namespace, release, 'metering')

  await section('Evict against the disruption budgets', async () => {
    await check('three processes of metering run, and its name resolves to three addresses', async () => {
      await upgrade(cluster, ...THREE)
      assert.equal((await meterings()).filter(isReady).length, 3)
      const addresses = () => addressesOf(cluster, namespace, 'nextvisit-metering-processes')
      assert.equal((await eventually(addresses, ({ length }) => length === 3, WITHIN_MS)).length, 3)
    })

    await check(
      'one process may be evicted; while its replacement cannot start, the next eviction is refused',
      async () => {
        await untilAllowed(cluster, 1)
        await cluster.kubectl(['cordon', ...NODES])
        const [first, second] = await meterings()
        assert.ok(first && second)
        await evict(cluster, first.metadata.name)
        await untilAllowed(cluster, 0)
        await assert.rejects(evict(cluster, second.metadata.name), /Cannot evict pod as it would violate/)
      },
    )

    await check('the process that has not started may be evicted at any time', async () => {
      const pending = (await meterings()).find(({ spec }) => spec.nodeName === undefined)
      assert.ok(pending)
      await evict(cluster, pending.metadata.name)
    })

    await check('once the replacement runs, the next eviction is permitted', async () => {
      await cluster.kubectl(['uncordon', ...NODES])
      await untilAllowed(cluster, 1)
      const [pod] = (await meterings()).filter(isReady)
      assert.ok(pod)
      await evict(cluster, pod.metadata.name)
    })

    await check('a node with processes of several services is drained', async () => {
      await cluster.kubectl(['drain', NODES[0], '--delete-emptydir-data', '--timeout=120s'])
      const left = (await readPods(cluster, namespace, release)).filter(({ spec }) => spec.nodeName === NODES[0])
      assert.deepEqual(left, [])
      await cluster.kubectl(['uncordon', NODES[0]])
    })

    await check('back to two processes of metering', async () => {
      await upgrade(cluster)
      const pods = () => readPods(cluster, namespace, release)
      const ready = await eventually(
        async () => readyPods(await pods()),
        ({ metering }) => metering === 2,
        WITHIN_MS,
      )
      assert.deepEqual(ready, REPLICAS)
    })
  })

  // A failed check leaves them cordoned, and then no pod of the next sections could start.
  await cluster.kubectl(['uncordon', ...NODES])

  await section('Scale by KEDA and by CPU (without their programs)', async () => {
    await check('keda.enabled adds a ScaledObject for each consumer, which begins with one process', async () => {
      await upgrade(cluster, ...KEDA)
      const scaled = await readObjects(cluster, namespace, 'scaledobjects.keda.sh')
      const names = consumers.map(({ name }) => `nextvisit-${name}`).toSorted()
      assert.deepEqual(scaled.map(({ metadata }) => metadata.name).toSorted(), names)
      assert.deepEqual(await replicasOf(cluster, names), new Set([1]))
    })

    await check('an upgrade keeps the number that an autoscaler set', async () => {
      await cluster.kubectl(['scale', 'deployment/nextvisit-metering', '--namespace', namespace, '--replicas=3'])
      await upgrade(cluster, ...KEDA, '--set', 'services.metering.env.LOG_LEVEL=debug')
      assert.deepEqual(await replicasOf(cluster, ['nextvisit-metering']), new Set([3]))
    })

    await check('switched off, the numbers of the values return, and no ScaledObject is left', async () => {
      await upgrade(cluster)
      assert.deepEqual(await readObjects(cluster, namespace, 'scaledobjects.keda.sh'), [])
      assert.deepEqual(readyPods(await readPods(cluster, namespace, release)), REPLICAS)
    })

    await check('gatewayAutoscaling.enabled adds an autoscaler, whose number an upgrade keeps', async () => {
      await upgrade(cluster, '--set', 'gatewayAutoscaling.enabled=true')
      const [scaler] = await readObjects<StoredObject>(cluster, namespace, 'horizontalpodautoscalers')
      assert.equal(scaler?.metadata.name, 'nextvisit-gateway')
      await cluster.kubectl(['scale', 'deployment/nextvisit-gateway', '--namespace', namespace, '--replicas=4'])
      await upgrade(cluster, '--set', 'gatewayAutoscaling.enabled=true', '--set', 'logLevel=debug')
      assert.deepEqual(await replicasOf(cluster, ['nextvisit-gateway']), new Set([4]))
      await upgrade(cluster)
      assert.deepEqual(await replicasOf(cluster, ['nextvisit-gateway']), new Set([2]))
    })

    await check('after kubectl scale, Helm refuses, and the command of the guide returns to the values', async () => {
      await cluster.kubectl(['scale', 'deployment/nextvisit-metering', '--namespace', namespace, '--replicas=3'])
      await assert.rejects(upgrade(cluster), /conflict with "kubectl" with subresource "scale"/)
      await cluster.bash(guide.commands('Scale', '--force-conflicts'))
      assert.deepEqual(readyPods(await readPods(cluster, namespace, release)), REPLICAS)
    })
  })
}

/** Evicts a pod, as `kubectl drain` does. */
async function evict(cluster: Cluster, name: string): Promise<void> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
  const place = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`
  await cluster.kubectl(['create', '--raw', place, '-f', '-'], JSON.stringify(eviction))
}

/** Waits until the budget of metering allows so many evictions. */
async function untilAllowed(cluster: Cluster, evictions: number): Promise<void> {
  const members = ['-o', 'jsonpath={.status.disruptionsAllowed}']
  const ask = async () =>
    Number((await cluster.kubectl(['get', 'pdb/nextvisit-metering', '--namespace', namespace, ...members])).stdout)
  assert.equal(await eventually(ask, (allowed) => allowed === evictions, WITHIN_MS), evictions)
}

async function replicasOf(cluster: Cluster, names: readonly string[]): Promise<ReadonlySet<number>> {
  const deployments = await readObjects<Deployment>(cluster, namespace, 'deployments')
  return new Set(deployments.filter(({ metadata }) => names.includes(metadata.name)).map(({ spec }) => spec.replicas))
}
