import type { KubernetesObject } from './render-chart.ts'

/** Packages with the schemas of Kubernetes and of the CRDs, by API group. */
const PACKAGES: Readonly<Record<string, string>> = {
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'external-secrets.io': '@kubernetes-models/external-secrets',
}
/** Versions that a package does not know, and the one that has the same members. */
const SAME_AS: Readonly<Record<string, string>> = { 'external-secrets.io/v1': 'external-secrets.io/v1beta1' }
/** Members that are newer than the package: https://keda.sh/docs/2.13/authentication-providers/configmap */
const NEWER = ['TriggerAuthentication.spec.configMapTargetRef']

interface Model {
  readonly validate: () => void
}

/**
 * Validates an object against its schema, as an API server with strict decoding does: types, required members, unknown members. Returns
 * the faults. The validators accept unknown members; those are the members that no validator has read.
 */
export async function faultsOf(object: KubernetesObject): Promise<readonly string[]> {
  const apiVersion = SAME_AS[object.apiVersion] ?? object.apiVersion
  const from = PACKAGES[apiVersion.split('/')[0] ?? ''] ?? 'kubernetes-models'
  const models = (await import(`${from}/${apiVersion}/${object.kind}`)) as Record<string, new (data: object) => Model>
  const Model = models[object.kind]
  if (!Model) return [`${apiVersion} has no ${object.kind}`]
  const reads: Read[] = []
  const watched = watch({ ...object, apiVersion }, object.kind, reads)
  const model = new Proxy(new Model(object), {
    get: (own, name) => (Object.hasOwn(object, name) ? watched[name as keyof object] : Reflect.get(own, name)),
  })
  try {
    model.validate()
  } catch (error) {
    return [`${object.kind} ${object.metadata.name}: ${String(error)}`]
  }
  const unread = reads.flatMap(({ at, members, seen }) =>
    members.filter((name) => !seen.has(name)).map((name) => `${at}.${name}`),
  )
  return unread.filter((member) => !NEWER.includes(member))
}

interface Read {
  readonly at: string
  readonly members: readonly string[]
  readonly seen: ReadonlySet<string>
}

/** Returns the value, and notes the members of all its objects that are read. */
function watch<T extends object>(value: T, at: string, reads: Read[]): T {
  const seen = new Set<string>()
  const watched = new Map<string, object>()
  if (!Array.isArray(value)) reads.push({ at, members: Object.keys(value), seen })
  return new Proxy(value, {
    get: (own, name) => {
      const member: unknown = Reflect.get(own, name)
      if (typeof name === 'symbol') return member
      seen.add(name)
      if (typeof member !== 'object' || member === null) return member
      const known = watched.get(name) ?? watch(member, Array.isArray(own) ? `${at}[]` : `${at}.${name}`, reads)
      watched.set(name, known)
      return known
    },
  })
}
