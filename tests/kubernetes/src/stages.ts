import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { stringify } from 'yaml'

/** Annotation of pods whose commands fail. */
export const FAILS = 'nextvisit.test/fails'

const OF_KWOK = [
  'node/fast/node-initialize.yaml',
  'node/heartbeat-with-lease/node-heartbeat-with-lease.yaml',
  'pod/fast/pod-ready.yaml',
  'pod/fast/pod-complete.yaml',
  'pod/fast/pod-delete.yaml',
]

/**
 * Returns the configuration of KWOK: its own stages, in which nodes and pods become ready and pods of Jobs complete; that the pod of
 * `helm test` completes, too; and that pods with the annotation {@link FAILS} fail.
 */
export async function stagesOf(kwokSource: string, logFile: string): Promise<string> {
  const own = OF_KWOK.map((file) => readFile(path.join(kwokSource, 'kustomize/stage', file), 'utf8'))
  const isTest = { key: '.metadata.labels["app.kubernetes.io/component"]', operator: 'In', values: ['status'] }
  const fails = { key: `.metadata.annotations["${FAILS}"]`, operator: 'In', values: ['true'] }
  const added = [
    endsWith(0, 'test-completes', isTest, 1),
    endsWith(1, 'command-fails', fails, 1_000_000),
    {
      apiVersion: 'kwok.x-k8s.io/v1alpha1',
      kind: 'ClusterLogs',
      metadata: { name: 'logs' },
      spec: { logs: [{ logsFile: logFile, follow: false }] },
    },
  ]
  return [...(await Promise.all(own)), ...added.map((one) => stringify(one))].join('\n---\n')
}

/** Returns a stage in which the commands of the selected pods end with a code. KWOK takes one of several stages by weight. */
function endsWith(exitCode: 0 | 1, name: string, selected: object, weight: number) {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: {
      resourceRef: { apiGroup: 'v1', kind: 'Pod' },
      selector: {
        matchExpressions: [
          { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' },
          { key: '.status.phase', operator: 'In', values: ['Running'] },
          selected,
        ],
      },
      weight,
      next: {
        statusTemplate: `
phase: ${exitCode === 0 ? 'Succeeded' : 'Failed'}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  ready: false
  restartCount: 0
  started: false
  state:
    terminated: { exitCode: ${exitCode}, reason: ${exitCode === 0 ? 'Completed' : 'Error'}, startedAt: {{ Now | Quote }}, finishedAt: {{ Now | Quote }} }
{{ end }}
`,
      },
    },
  }
}
