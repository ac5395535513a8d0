import type { Checks } from './checks.ts'
import type { Guide } from './guide.ts'
import type { Cluster } from './start-cluster.ts'

/** Objects that every section of the test uses. */
export interface Context {
  readonly cluster: Cluster
  readonly guide: Guide
  readonly checks: Checks
}

/** Namespace and release of the guide. */
export const GUIDE = { namespace: 'feedback', release: 'nextvisit' } as const
/** Place of the chart, as in the guide. */
export const CHART = 'infra/helm/nextvisit'

/** Services of the default values, by their number of processes. */
export const REPLICAS: Readonly<Record<string, number>> = {
  gateway: 2,
  'user-projector': 2,
  'trait-registry': 2,
  metering: 2,
  'form-trigger-evaluator': 2,
  'answer-collector': 2,
  'webhook-dispatcher': 2,
  'user-eraser': 2,
  console: 1,
}

/** Objects that the cluster has before the release with every optional object is installed. */
export const NEEDED = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: { name: high }
value: 1000
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: fast }
provisioner: kubernetes.io/no-provisioner
---
apiVersion: v1
kind: PersistentVolume
metadata: { name: disk }
spec:
  storageClassName: fast
  capacity: { storage: 1Gi }
  accessModes: [ReadWriteOnce]
  hostPath: { path: /tmp }
`
