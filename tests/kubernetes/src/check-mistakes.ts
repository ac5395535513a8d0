import assert from 'node:assert/strict'
import { type KubernetesObject, renderText } from '@nextvisit/chart/render-chart'
import { EVERYTHING, MATRIX } from '@nextvisit/chart/values'
import { parseAllDocuments, stringify } from 'yaml'
import { CHART, type Context, GUIDE, NEEDED } from './context.ts'

const { namespace, release } = GUIDE
/** Without objects of the guide's release, so that all are new. */
const EMPTY = 'empty'

/** Values that Helm refuses, with its words. */
const FAULTS = [
  ['kafka.partition=24', /additional propert(y|ies) '?partition'? (is )?not allowed/i],
  ['services.meterin.replicas=3', /additional propert(y|ies) '?meterin'? (is )?not allowed/i],
  ['kafka.partitions=24/12', /kafka\.partitions: 24\/12 uses more partitions/],
] as const

/** A misspelt member for each kind of the chart's optional objects, and for a Deployment. */
const MISSPELT: readonly (readonly [kind: string, from: string, to: string])[] = [
  ['Deployment', 'readinessProbe', 'readinessProb'],
  ['HorizontalPodAutoscaler', 'maxReplicas', 'maxReplica'],
  ['NetworkPolicy', 'policyTypes', 'policyType'],
  ['PodDisruptionBudget', 'unhealthyPodEvictionPolicy', 'unhealthyPodEviction'],
  ['ScaledObject', 'maxReplicaCount', 'maxReplicasCount'],
  ['TriggerAuthentication', 'secretTargetRef', 'secretTargetReference'],
  ['ServiceMonitor', 'honorLabels', 'honourLabels'],
  ['PrometheusRule', 'annotations', 'anotations'],
  ['ExternalSecret', 'refreshInterval', 'refreshInterwal'],
  ['HTTPRoute', 'backendRefs', 'backendRef'],
]

/** Shows that misspelt values and members are refused, and that the API server accepts every object of the chart strictly. */
export async function checkMistakes({ cluster, checks: { check, section } }: Context): Promise<void> {
  const apply = (text: string) =>
    cluster.kubectl(
      ['apply', '--server-side', '--dry-run=server', '--validate=strict', '--namespace', EMPTY, '-f', '-'],
      text,
    )

  await section('Mistakes', async () => {
    await cluster.kubectl(['create', 'namespace', EMPTY])
    const restricted = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`)
    await cluster.kubectl(['label', 'namespace', EMPTY, ...restricted])
    await cluster.kubectl(['apply', '-f', '-'], NEEDED)
    // The account of one of the sets of values.
    await cluster.kubectl(['create', 'serviceaccount', 'feedback', '--namespace', EMPTY])

    await check('a misspelt value is refused by its name, and the release stays', async () => {
      const before = await revisionOf(cluster.helm)
      for (const [value, fault] of FAULTS)
        await assert.rejects(
          cluster.helm([
            'upgrade',
            release,
            CHART,
            '--namespace',
            namespace,
            '--values',
            'values.yaml',
            '--set',
            value,
          ]),
          fault,
        )
      assert.equal(await revisionOf(cluster.helm), before)
    })

    for (const [name, values] of MATRIX)
      await check(`the API server accepts every object strictly, without a warning: ${name}`, async () => {
        const { stdout, stderr } = await apply(await renderText(values))
        assert.doesNotMatch(stderr, /warning/i)
        assert.ok(stdout.trim().split('\n').length > 20)
      })

    const objects = parseAllDocuments(await renderText(EVERYTHING)).map(
      (document) => document.toJS() as KubernetesObject | null,
    )
    for (const [kind, from, to] of MISSPELT)
      await check(`the API server refuses ${to} (${kind})`, async () => {
        const object = objects.find((one) => one?.kind === kind && stringify(one).includes(`${from}:`))
        assert.ok(object, `the chart has no ${kind} with ${from}`)
        const text = stringify(object).replace(`${from}:`, `${to}:`)
        await assert.rejects(apply(text), /unknown field|field not declared in schema/)
      })
  })
}

async function revisionOf(helm: Context['cluster']['helm']): Promise<string> {
  const { stdout } = await helm(['status', release, '--namespace', namespace, '-o', 'json'])
  return String((JSON.parse(stdout) as { readonly version: number }).version)
}
