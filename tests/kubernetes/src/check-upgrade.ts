import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { eventually } from '@nextvisit/testing/black-box'
import { CHART, type Context, GUIDE } from './context.ts'
import {
  changedBetween,
  type Event,
  isReady,
  readObjects,
  readPods,
  readTemplates,
  type StoredObject,
} from './read-objects.ts'
import type { Cluster } from './start-cluster.ts'

const { namespace, release } = GUIDE
const WITHIN_MS = 60_000

/** Upgrades and rolls back the release of the guide. */
export async function checkUpgrade({ cluster, guide, checks: { check, section } }: Context): Promise<void> {
  const templates = () => readTemplates(cluster, namespace)

  await section('Upgrade and roll back', async () => {
    const secret = await secretOf(cluster)

    await check('the guide’s upgrade without a change runs the Jobs and replaces no process', async () => {
      const before = await templates()
      const jobs = await jobEvents(cluster)
      await cluster.bash(guide.commands('Upgrade and roll back', 'helm upgrade'))
      assert.deepEqual(changedBetween(before, await templates()), [])
      const ran = (await jobEvents(cluster)).filter((one) => !jobs.includes(one))
      assert.deepEqual(ran.map((one) => one.split(' ')[0] ?? '').toSorted(), ['nextvisit-migrate', 'nextvisit-topics'])
    })

    await check('a changed value of one service replaces only its processes', async () => {
      const before = await templates()
      await upgrade(cluster, '--set', 'services.metering.env.LOG_LEVEL=debug')
      assert.deepEqual(changedBetween(before, await templates()), ['nextvisit-metering'])
    })

    await check('helm rollback returns to the former value, and runs no Job', async () => {
      const before = await templates()
      const jobs = await jobEvents(cluster)
      await cluster.bash(`${guide.inText('helm rollback nextvisit --namespace feedback')} --wait --timeout 2m`)
      assert.deepEqual(changedBetween(before, await templates()), ['nextvisit-metering'])
      assert.doesNotMatch(await podEnvironment(cluster, 'metering'), /"debug"/)
      assert.deepEqual(await jobEvents(cluster), jobs)
    })

    await check('a new image replaces every process', async () => {
      const before = await templates()
      await upgrade(cluster, '--set', 'image.tag=1.0.1')
      assert.deepEqual(changedBetween(before, await templates()), [...before.keys()].toSorted())
    })

    await check('paused as the guide says, gateways keep their version until they are resumed', async () => {
      // Not the revision: that of a paused Deployment changes if it had the template before.
      const gateways = async () =>
        (await readPods(cluster, namespace, release, 'gateway')).filter(isReady).map(({ metadata }) => metadata.name)
      const rolledOut = (name: string) =>
        cluster.kubectl(['rollout', 'status', `deployment/${name}`, '--namespace', namespace, '--timeout=2m'])
      const before = await templates()
      const old = (await gateways()).toSorted()
      const [pause, ...rest] = guide.commands('Upgrade and roll back', 'rollout pause').trim().split('\n')
      const resume = rest.at(-1) ?? ''
      await cluster.bash([pause, ...rest.slice(0, -1)].join('\n'))
      const others = [...before.keys()].filter((name) => name !== 'nextvisit-gateway')
      for (const name of others) await rolledOut(name)
      const changed = changedBetween(before, await templates())
      assert.deepEqual(
        others.filter((name) => !changed.includes(name)),
        [],
      )
      assert.deepEqual((await gateways()).toSorted(), old)
      await cluster.bash(resume)
      await rolledOut('nextvisit-gateway')
      assert.deepEqual(
        (await gateways()).filter((name) => old.includes(name)),
        [],
      )
    })

    await check('the workspace file of the guide is applied by a Job after the services', async () => {
      await writeFile(path.join(cluster.desk, 'workspace.yaml'), guide.values('The workspace file'))
      const key = { ACME_BACKEND_KEY: randomBytes(24).toString('hex') }
      await cluster.bash(guide.commands('The workspace file', 'kubectl create secret'), key)
      // The event of the last Job may come after the end of Helm.
      const ran = await eventually(
        async () => (await jobEvents(cluster)).map((one) => one.split(' ')[0]),
        (names) => names.includes('nextvisit-apply'),
        WITHIN_MS,
      )
      assert.ok(ran.includes('nextvisit-apply'), `ran: ${ran.join(', ')}`)
    })

    await check('the guide’s command after a change of the Secret replaces every process', async () => {
      const before = await templates()
      await cluster.bash(guide.commands('Keys of the Secret', 'rollout restart'))
      await cluster.bash(`kubectl rollout status deployment --namespace ${namespace} --timeout=2m`)
      assert.deepEqual(changedBetween(before, await templates()), [...before.keys()].toSorted())
    })

    await check('nothing has changed the Secret', async () => {
      assert.deepEqual(await secretOf(cluster), secret)
    })
  })
}

/** Upgrades the release of the guide with its values and these options. */
export async function upgrade(cluster: Cluster, ...options: readonly string[]): Promise<void> {
  const values = ['--values', 'values.yaml', '--wait', '--timeout', '3m']
  await cluster.helm(['upgrade', release, CHART, '--namespace', namespace, ...values, ...options])
}

async function secretOf(cluster: Cluster): Promise<StoredObject['metadata']> {
  const { stdout } = await cluster.kubectl(['get', 'secret', 'nextvisit', '--namespace', namespace, '-o', 'json'])
  return (JSON.parse(stdout) as StoredObject).metadata
}

async function podEnvironment(cluster: Cluster, service: string): Promise<string> {
  const members = 'jsonpath={.spec.template.spec.containers[0].env}'
  const of = `deployment/nextvisit-${service}`
  return (await cluster.kubectl(['get', of, '--namespace', namespace, '-o', members])).stdout
}

/** Returns a line for each Job that completed: its name and the id of its event. */
async function jobEvents(cluster: Cluster): Promise<readonly string[]> {
  const events = await readObjects<Event>(cluster, namespace, 'events')
  return events
    .filter(({ involvedObject, reason }) => involvedObject.kind === 'Job' && reason === 'Completed')
    .map(({ involvedObject, metadata }) => `${involvedObject.name} ${metadata.uid}`)
}
