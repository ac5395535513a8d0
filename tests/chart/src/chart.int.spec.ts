import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { addressesVariable, consumerGroupOf } from '@nextvisit/contracts'
import { readDashboards, readRules } from '@nextvisit/monitoring'
import { consumers } from '@nextvisit/services'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { faultsOf } from './faults-of.ts'
import { findHelm } from './find-helm.ts'
import {
  CHART,
  CHECKOUT,
  helm,
  hookOf,
  type KubernetesObject,
  NAMESPACE,
  podMetadataOf,
  podOf,
  renderChart,
  renderNotes,
  renderText,
} from './render-chart.ts'
import { EVERYTHING, MATRIX, MINIMAL } from './values.ts'

const rendered = new Map<string, readonly KubernetesObject[]>()
const objectsOf = (name: string) => rendered.get(name) ?? []
const podsOf = (name: string) =>
  objectsOf(name).flatMap((object) => {
    const pod = podOf(object)
    return pod ? [{ object, pod, container: pod.containers[0] }] : []
  })
const servicesOf = (name: string) => objectsOf(name).filter(({ kind }) => kind === 'Service')
const deploymentsOf = (name: string) => podsOf(name).filter(({ object }) => object.kind === 'Deployment')
const scaledBy = (name: string) =>
  objectsOf(name)
    .filter(({ kind }) => kind === 'ScaledObject')
    .map(
      ({ spec }) =>
        spec as {
          readonly scaleTargetRef: { readonly name: string }
          readonly triggers: readonly object[]
          readonly advanced: {
            readonly horizontalPodAutoscalerConfig: { readonly behavior: { readonly scaleDown: object } }
          }
        },
    )
const aDeployment = () => structuredClone(objectsOf('minimal').find(({ kind }) => kind === 'Deployment'))
const graceOf = (name: string) =>
  Object.fromEntries(
    deploymentsOf(name).map(({ pod, container }) => [container.name, pod.terminationGracePeriodSeconds]),
  )
const NAMES = MATRIX.map(([name]) => name)

// Downloads Helm the first time.
beforeAll(async () => {
  await findHelm()
  for (const [name, values] of MATRIX) rendered.set(name, await renderChart(values))
}, 300_000)

function raise(message: string): never {
  throw new RangeError(message)
}

describe('the chart', () => {
  it('passes Helm’s strict linter', async () => {
    expect(await helm(['lint', '--strict', CHART, '--values', '-'], JSON.stringify(EVERYTHING))).toContain(
      '0 chart(s) failed',
    )
  })

  it('runs every service', () => {
    const names = deploymentsOf('minimal').map(({ container }) => container.args[0] ?? '')
    const services = readdirSync(path.join(CHECKOUT, 'services')).filter(
      (name) => /^[a-z-]+$/.test(name) && name !== 'node_modules',
    )
    expect(names.toSorted()).toEqual(services.map((name) => `services/${name}/src/main.ts`).toSorted())
  })

  it.each(NAMES)('renders objects that Kubernetes and the operators accept: %s', async (name) => {
    expect(objectsOf(name).length).toBeGreaterThan(20)
    const faults = await Promise.all(objectsOf(name).map(faultsOf))
    expect(faults.flat()).toEqual([])
  })

  it.each(NAMES)('gives each object a name of its own, which Kubernetes accepts: %s', (name) => {
    const ids = objectsOf(name).map(({ kind, metadata }) => `${kind}/${metadata.name}`)
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  })

  it('has names of at most 63 characters for the longest name of a release', async () => {
    const objects = await renderChart(EVERYTHING, 'a'.repeat(53))
    expect(objects.filter(({ metadata }) => metadata.name.length > 63)).toEqual([])
  })

  it('renders the same bytes twice, and at an upgrade', async () => {
    const first = await renderText(EVERYTHING)
    expect(await renderText(EVERYTHING)).toBe(first)
    expect(await renderText(EVERYTHING, 'nextvisit', ['--is-upgrade'])).toBe(first)
  })

  it.each(NAMES)('contains no Secret: %s', (name) => {
    expect(objectsOf(name).filter(({ kind }) => kind === 'Secret')).toEqual([])
  })

  it('migrates and creates topics before each installation and upgrade, and applies the file after it', () => {
    const hooks = podsOf('everything').flatMap(({ object, container }) => {
      const hook = hookOf(object)
      return hook === undefined ? [] : [[container.name, hook]]
    })
    expect(Object.fromEntries(hooks)).toEqual({
      migrate: 'pre-install,pre-upgrade',
      topics: 'pre-install,pre-upgrade',
      apply: 'post-install,post-upgrade',
      status: 'test',
    })
  })

  it('has one pod for commands if asked, with the settings of all of them', () => {
    expect(deploymentsOf('minimal').map(({ container }) => container.name)).not.toContain('commands')
    const [{ object, pod, container } = raise('no pod for commands')] = deploymentsOf('a pod for commands').filter(
      ({ container: { name } }) => name === 'commands',
    )
    expect(object.spec).toMatchObject({ replicas: 1 })
    expect(pod.restartPolicy).toBe('Always')
    const names = container.env.map(({ name }) => name)
    const ofCommands = podsOf('a pod for commands').flatMap(({ object: { kind }, container: { env } }) =>
      kind === 'Deployment' ? [] : env.map(({ name }) => name),
    )
    expect(ofCommands.length).toBeGreaterThan(20)
    expect(ofCommands.filter((name) => !names.includes(name))).toEqual([])
  })

  it('applies the file in the name of the release', () => {
    const apply = podsOf('everything').find(({ container }) => container.name === 'apply')
    expect(apply?.container.env).toContainEqual({ name: 'NEXTVISIT_ACTOR', value: 'Helm release nextvisit' })
  })

  it('keeps the selectors of Deployments between versions', () => {
    for (const { object } of deploymentsOf('minimal')) {
      const component = object.metadata.labels?.['app.kubernetes.io/component']
      expect(object.spec).toMatchObject({
        selector: {
          matchLabels: {
            'app.kubernetes.io/name': 'nextvisit',
            'app.kubernetes.io/instance': 'nextvisit',
            'app.kubernetes.io/component': component,
          },
        },
      })
      expect(
        Object.keys((object.spec as { readonly selector: { readonly matchLabels: object } }).selector.matchLabels),
      ).toHaveLength(3)
    }
  })
})

describe('each pod', () => {
  it.each(NAMES)('is restricted: %s', (name) => {
    for (const { pod, container } of podsOf(name)) {
      expect(pod).toMatchObject({
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        automountServiceAccountToken: false,
        enableServiceLinks: false,
      })
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
  })

  it('of a service has the memory settings of infra/service.env, and a limit above them', () => {
    const settings = parseEnv(readFileSync(path.join(CHECKOUT, 'infra/service.env'), 'utf8'))
    const [, semi = '', old = ''] =
      /semi-space-size=(\d+) --max-old-space-size=(\d+)/.exec(settings['NODE_OPTIONS'] ?? '') ?? []
    for (const { container } of deploymentsOf('minimal')) {
      const env = new Map(container.env.map(({ name, value }) => [name, value]))
      expect(Object.fromEntries(Object.keys(settings).map((name) => [name, env.get(name)]))).toEqual(settings)
      const limit = Number(/^(\d+)Mi$/.exec(container.resources.limits?.memory ?? '')?.[1])
      expect(limit).toBeGreaterThanOrEqual(3 * Number(semi) + Number(old) + 128)
    }
  })

  it('sets only variables that the configuration page describes', () => {
    const page = readFileSync(path.join(CHECKOUT, 'docs/reference/configuration.md'), 'utf8')
    const memory = Object.keys(parseEnv(readFileSync(path.join(CHECKOUT, 'infra/service.env'), 'utf8')))
    const names = podsOf('everything').flatMap(({ container }) => container.env.map(({ name }) => name))
    expect([...new Set(names)].filter((name) => !page.includes(`\`${name}\``) && !memory.includes(name))).toEqual([])
  })

  it('sets each variable once', () => {
    for (const { container } of podsOf('everything')) {
      const names = container.env.map(({ name }) => name)
      expect(names).toEqual([...new Set(names)])
    }
  })

  it('of a service is asked at its internal port whether it lives and is ready', () => {
    for (const { container } of deploymentsOf('everything')) {
      const { startupProbe, livenessProbe, readinessProbe, ports } = container
      const paths = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet)
      expect(paths).toEqual(['/livez', '/livez', '/readyz'].map((where) => ({ path: where, port: 'internal' })))
      expect(ports).toContainEqual({ name: 'internal', containerPort: 9100 })
    }
  })

  it('of a service stops within its grace period', () => {
    expect(graceOf('minimal')).toMatchObject({ gateway: 30, metering: 30 })
    expect(graceOf('everything')).toMatchObject({ gateway: 35 })
  })

  it('has labels, annotations, place and priority of the defaults, the pod of a command as well', () => {
    const { affinity, nodeSelector, podAnnotations, podLabels, priorityClassName, tolerations } = EVERYTHING.defaults
    for (const { object, pod } of podsOf('everything')) {
      expect(podMetadataOf(object)).toMatchObject({ labels: podLabels, annotations: podAnnotations })
      expect(pod).toMatchObject({ affinity, nodeSelector, priorityClassName, tolerations })
    }
  })

  it('writes numbers of values as digits', async () => {
    const [deployment] = (
      await renderChart({ ...MINIMAL, defaults: { env: { GATEWAY_MAX_BODY_BYTES_IN_FLIGHT: 134_217_728 } } })
    ).filter(({ kind }) => kind === 'Deployment')
    const env = deployment && podOf(deployment)?.containers[0].env
    expect(env).toContainEqual({ name: 'GATEWAY_MAX_BODY_BYTES_IN_FLIGHT', value: '134217728' })
  })
})

describe('scaling', () => {
  it.each(['scaled by seconds', 'TLS without SASL, scaled by offsets'])(
    'reaches every consumer, which has no replicas then: %s',
    (name) => {
      const targets = scaledBy(name).map(({ scaleTargetRef }) => scaleTargetRef.name)
      expect(targets.toSorted()).toEqual(consumers.map((consumer) => `nextvisit-${consumer.name}`).toSorted())
      const withReplicas = deploymentsOf(name).filter(({ object }) => 'replicas' in (object.spec as object))
      expect(withReplicas.map(({ container }) => container.name)).toEqual(['console', 'gateway'])
    },
  )

  it('uses as many processes as there are partitions with records', () => {
    expect(EVERYTHING.kafka.partitions).toBe('12/24')
    for (const spec of scaledBy('everything')) {
      // The topic erasures has one partition.
      const most = spec.scaleTargetRef.name === 'nextvisit-user-eraser' ? 1 : 12
      expect(spec).toMatchObject({ minReplicaCount: 1, maxReplicaCount: most })
    }
  })

  it('begins with no more processes than the maximum', async () => {
    const objects = await renderChart({ ...MINIMAL, keda: { enabled: true, minReplicas: 2 } })
    const least = objects.flatMap(({ kind, metadata, spec }) =>
      kind === 'ScaledObject'
        ? [[metadata.name, (spec as { readonly minReplicaCount: number }).minReplicaCount] as const]
        : [],
    )
    expect(Object.fromEntries(least)).toMatchObject({ 'nextvisit-metering': 2, 'nextvisit-user-eraser': 1 })
  })

  it('has no fallback: KEDA refuses one for a value', () => {
    for (const spec of scaledBy('scaled by seconds')) {
      expect(spec).not.toHaveProperty('fallback')
      expect(spec.triggers).toMatchObject([
        { type: 'prometheus', metricType: 'Value', metadata: { ignoreNullValues: 'false' } },
      ])
    }
  })

  it('reads the lag of the consumer, without halted partitions, which more processes do not help', () => {
    for (const { scaleTargetRef, triggers } of scaledBy('scaled by seconds')) {
      const of = `{service="${scaleTargetRef.name.replace('nextvisit-', '')}", namespace="${NAMESPACE}"}`
      const query = `max(projection_lag_seconds${of} unless on (partition) projection_halted${of} == 1)`
      expect(triggers).toMatchObject([{ metadata: { query, threshold: '5' } }])
    }
    for (const { scaleTargetRef, triggers } of scaledBy('TLS without SASL, scaled by offsets')) {
      const consumerGroup = consumerGroupOf(scaleTargetRef.name.replace('nextvisit-', ''))
      expect(triggers).toMatchObject([
        { metadata: { consumerGroup, lagThreshold: '5000', excludePersistentLag: 'true', tls: 'enable' } },
      ])
    }
  })

  it('goes down by one process at a time, and late', () => {
    for (const { advanced } of scaledBy('scaled by seconds')) {
      expect(advanced.horizontalPodAutoscalerConfig.behavior.scaleDown).toEqual({
        stabilizationWindowSeconds: 600,
        policies: [{ type: 'Pods', value: 1, periodSeconds: 300 }],
      })
    }
  })

  it('authenticates at Kafka as the consumers do', () => {
    const secret = objectsOf('TLS with the authorities in a Secret, and SASL').find(
      ({ kind }) => kind === 'TriggerAuthentication',
    )
    // KEDA reads the name of the user from here only, never from the metadata of a trigger.
    expect(secret?.spec).toEqual({
      env: [{ parameter: 'username', name: 'KAFKA_SASL_USERNAME' }],
      secretTargetRef: [
        { parameter: 'password', name: 'nextvisit', key: 'KAFKA_SASL_PASSWORD' },
        { parameter: 'ca', name: 'authorities', key: 'ca.crt' },
      ],
    })
    for (const { container } of deploymentsOf('TLS with the authorities in a Secret, and SASL'))
      expect(container.env).toContainEqual({ name: 'KAFKA_SASL_USERNAME', value: 'nextvisit' })
    for (const { triggers } of scaledBy('TLS with the authorities in a Secret, and SASL'))
      expect(triggers).toMatchObject([
        { metadata: { sasl: 'plaintext' }, authenticationRef: { name: 'nextvisit-kafka' } },
      ])
    expect(
      objectsOf('TLS without SASL, scaled by offsets').filter(({ kind }) => kind === 'TriggerAuthentication'),
    ).toEqual([])
  })
})

describe('monitoring', () => {
  it('has every alert, with the address of the console', () => {
    const rule = objectsOf('everything').find(({ kind }) => kind === 'PrometheusRule')
    const { groups } = (rule?.spec ?? {}) as {
      readonly groups: readonly { readonly rules: readonly { readonly alert?: string }[] }[]
    }
    const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined)
    expect(alerts).toEqual(
      readRules().alerts.map(
        (alert) =>
          JSON.parse(
            JSON.stringify(alert).replaceAll('https://console.example.com', EVERYTHING.console.publicUrl),
          ) as unknown,
      ),
    )
  })

  it('has every dashboard', () => {
    const inChart = objectsOf('everything').flatMap(({ kind, data = {} }) =>
      kind === 'ConfigMap' ? Object.entries(data).filter(([name]) => name.endsWith('.json')) : [],
    )
    expect(inChart.map(([name]) => name).toSorted()).toEqual(
      readDashboards()
        .map(({ name }) => `${name}.json`)
        .toSorted(),
    )
    for (const [, text] of inChart) {
      expect(() => JSON.parse(text) as unknown).not.toThrow()
      expect(text).not.toContain('console.example.com')
    }
    expect(inChart.map(([, text]) => text).join('')).toContain(`${EVERYTHING.console.publicUrl}/runbooks/`)
  })

  it('finds the internal port of every service, and gives its samples the labels of the alerts', () => {
    const monitor = objectsOf('everything').find(({ kind }) => kind === 'ServiceMonitor')
    const { selector, endpoints } = (monitor?.spec ?? {}) as {
      readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
      readonly endpoints: readonly object[]
    }
    const found = servicesOf('everything').filter(({ metadata: { labels = {} } }) =>
      Object.entries(selector.matchLabels).every(([name, value]) => labels[name] === value),
    )
    expect(found.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] ?? '').toSorted()).toEqual(
      deploymentsOf('everything')
        .map(({ container }) => container.name)
        .toSorted(),
    )
    expect(endpoints).toMatchObject([
      {
        port: 'internal',
        path: '/metrics',
        honorLabels: true,
        relabelings: [
          { targetLabel: 'job', replacement: 'nextvisit' },
          { targetLabel: 'service', sourceLabels: ['__meta_kubernetes_service_label_app_kubernetes_io_component'] },
        ],
      },
    ])
  })

  it('says in the notes that links need the address of the console', async () => {
    const alerts = { ...MINIMAL, prometheusRule: { enabled: true } }
    expect(await renderNotes(alerts)).toContain('set `console.publicUrl`')
    expect(await renderNotes({ ...alerts, console: { publicUrl: 'https://ops.example.com' } })).not.toContain(
      'publicUrl',
    )
  })
})

const policies = () =>
  new Map(
    objectsOf('everything').flatMap(({ kind, metadata, spec }) =>
      kind === 'NetworkPolicy' ? [[metadata.name, spec as object] as const] : [],
    ),
  )

describe('the network', () => {
  const release = { 'app.kubernetes.io/name': 'nextvisit', 'app.kubernetes.io/instance': 'nextvisit' }

  it('reaches internal ports from the pods of the release and from Prometheus only', () => {
    expect(policies().get('nextvisit-internal')).toEqual({
      podSelector: { matchLabels: release },
      policyTypes: ['Ingress'],
      ingress: [
        {
          ports: [{ port: 'internal' }],
          from: [
            { podSelector: { matchLabels: release } },
            { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } },
          ],
        },
      ],
    })
    for (const { object } of podsOf('everything')) expect(podMetadataOf(object).labels).toMatchObject(release)
  })

  it('reaches the public ports of the gateway and the console from where the values say', () => {
    expect(policies().get('nextvisit-gateway')).toMatchObject({
      ingress: [{ ports: [{ port: 'http' }], from: EVERYTHING.networkPolicies.gatewayFrom }],
    })
    expect(policies().get('nextvisit-console')).toMatchObject({ ingress: [{ ports: [{ port: 'http' }] }] })
    expect([...policies().keys()].toSorted()).toEqual(['nextvisit-console', 'nextvisit-gateway', 'nextvisit-internal'])
  })

  it('leads hosts to Services and ports that exist', () => {
    const ingress = objectsOf('everything').find(({ kind }) => kind === 'Ingress')?.spec as {
      readonly rules: readonly {
        readonly host: string
        readonly http: {
          readonly paths: readonly { readonly backend: { readonly service: { readonly name: string } } }[]
        }
      }[]
    }
    expect(ingress.rules.map(({ host, http }) => [host, http.paths.map(({ backend }) => backend.service)])).toEqual([
      ['ops.example.com', [{ name: 'nextvisit-console', port: { name: 'http' } }]],
      ['api.example.com', [{ name: 'nextvisit-gateway', port: { name: 'http' } }]],
    ])
    const routes = objectsOf('everything').filter(({ kind }) => kind === 'HTTPRoute')
    expect(routes.map(({ spec }) => spec)).toMatchObject([
      { hostnames: ['ops.example.com'], rules: [{ backendRefs: [{ name: 'nextvisit-console', port: 80 }] }] },
      { hostnames: ['api.example.com'], rules: [{ backendRefs: [{ name: 'nextvisit-gateway', port: 80 }] }] },
    ])
    for (const name of ['nextvisit-console', 'nextvisit-gateway']) {
      const service = servicesOf('everything').find(({ metadata }) => metadata.name === name)
      expect(service?.spec).toMatchObject({ ports: [{ name: 'http', port: 80 }] })
    }
  })
})

describe('addresses', () => {
  it('are names of Services that select the processes, ready or not', () => {
    const services = servicesOf('minimal')
    const { env = [] } = podsOf('minimal').find(({ container }) => container.name === 'console')?.container ?? {}
    for (const service of ['gateway', ...consumers.map(({ name }) => name)] as const) {
      const name = `nextvisit-${service}-processes`
      const variable = addressesVariable(service as Parameters<typeof addressesVariable>[0])
      expect(env).toContainEqual({ name: variable, value: `dns+http://${name}.feedback:9100` })
      expect(services.find(({ metadata }) => metadata.name === name)?.spec).toMatchObject({
        clusterIP: 'None',
        publishNotReadyAddresses: true,
        selector: { 'app.kubernetes.io/component': service },
      })
    }
  })
})

const consoleEnv = (name: string) =>
  podsOf(name).find(({ container }) => container.name === 'console')?.container.env ?? []
const optionalSecret = (key: string) =>
  expect.objectContaining({
    name: key,
    valueFrom: { secretKeyRef: expect.objectContaining({ key, optional: true }) as unknown },
  }) as unknown

describe('the sign-in to the console', () => {
  it('needs a token without an identity provider, and with one the settings of both, whose secrets are optional', () => {
    expect(consoleEnv('minimal')).not.toContainEqual(optionalSecret('CONSOLE_TOKEN'))
    expect(consoleEnv('minimal').map(({ name }) => name)).toContain('CONSOLE_TOKEN')
    expect(consoleEnv('minimal').filter(({ name }) => name.includes('OIDC'))).toEqual([])
    for (const key of ['CONSOLE_TOKEN', 'CONSOLE_VIEWER_TOKEN', 'CONSOLE_OIDC_CLIENT_SECRET'])
      expect(consoleEnv('everything')).toContainEqual(optionalSecret(key))
    expect(
      consoleEnv('everything').flatMap(({ name, value }) => (name.includes('OIDC') && value ? [[name, value]] : [])),
    ).toEqual([
      ['CONSOLE_OIDC_CLIENT_ID', 'nextvisit'],
      ['CONSOLE_OIDC_ISSUER', 'https://sso.example.com/realms/staff'],
      ['CONSOLE_OIDC_NAME', 'Staff'],
      ['CONSOLE_OIDC_OPERATORS', 'Platform Team,on-call'],
      ['CONSOLE_OIDC_ROLES_CLAIM', 'realm_access.roles'],
      ['CONSOLE_OIDC_SCOPES', 'openid profile email'],
      ['CONSOLE_OIDC_SESSION_MINUTES', '240'],
      ['CONSOLE_OIDC_VIEWERS', 'nextvisit-viewer'],
    ])
  })
})

describe('values', () => {
  // Helm 3 and 4 quote names differently.
  it.each<[string, object, string | RegExp]>([
    ['without brokers', {}, 'kafka.brokers'],
    ['misspelt', { ...MINIMAL, kafka: { ...MINIMAL.kafka, partition: 12 } }, /\bpartition\b/],
    ['of an unknown service', { ...MINIMAL, services: { gatway: {} } }, /\bgatway\b/],
    ['misspelt for a service', { ...MINIMAL, services: { metering: { replica: 3 } } }, /\breplica\b/],
    ['of a wrong type', { ...MINIMAL, services: { metering: { replicas: 'three' } } }, /services.metering.replicas/],
    [
      'with two consoles and the disk of one',
      { ...MINIMAL, console: { persistence: { enabled: true } }, services: { console: { replicas: 2 } } },
      'console.persistence.enabled',
    ],
    [
      'with an issuer that has no https',
      { ...MINIMAL, console: { oidc: { issuer: 'http://sso.example.com' } } },
      /console.oidc.issuer/,
    ],
    [
      'with an issuer, and without an address to which it returns people',
      { ...MINIMAL, console: { oidc: { issuer: 'https://sso.example.com', clientId: 'a', rolesClaim: 'groups' } } },
      'console.publicUrl',
    ],
    [
      'with an issuer, and without the claim that gives roles',
      {
        ...MINIMAL,
        console: { publicUrl: 'https://a.example', oidc: { issuer: 'https://sso.example.com', clientId: 'a' } },
      },
      'console.oidc.rolesClaim',
    ],
    ['of an unknown mechanism', { kafka: { ...MINIMAL.kafka, sasl: { mechanism: 'md5' } } }, /kafka.sasl.mechanism/],
    ['with a broker without a port', { kafka: { brokers: ['kafka'] } }, /kafka.brokers.0/],
    [
      'with more processes than partitions',
      { ...MINIMAL, keda: { enabled: true, maxReplicas: 13 } },
      'keda.maxReplicas',
    ],
    [
      'with a least number of processes above the most',
      { ...MINIMAL, keda: { enabled: true, minReplicas: 7, maxReplicas: 6 } },
      'keda.minReplicas',
    ],
    ['with 24 of 12 partitions', { kafka: { ...MINIMAL.kafka, partitions: '24/12' } }, 'kafka.partitions'],
    [
      'with a secret among the variables',
      { ...MINIMAL, defaults: { env: { INTERNAL_TOKEN: 'x' } } },
      'INTERNAL_TOKEN is secret',
    ],
    ...['KAFKA_SASL_PASSWORD', 'CONSOLE_TOKEN', 'CONSOLE_OIDC_CLIENT_SECRET', 'OTEL_EXPORTER_OTLP_HEADERS'].map(
      (name): [string, object, string] => [
        `with a secret of only some installations among the variables: ${name}`,
        { ...MINIMAL, services: { console: { env: { [name]: 'x' } } } },
        `${name} is secret`,
      ],
    ),
    [
      'with another internal port, at which no probe asks',
      { ...MINIMAL, defaults: { env: { INTERNAL_PORT: 9200 } } },
      'INTERNAL_PORT',
    ],
    [
      'with a delay of the gateway that its grace period does not know',
      { ...MINIMAL, services: { gateway: { env: { GATEWAY_SHUTDOWN_DELAY_MS: 60_000 } } } },
      'services.gateway.shutdownDelayMs',
    ],
    ['without the Secret', { ...MINIMAL, secrets: { existingSecret: '' } }, 'secrets.existingSecret'],
    ['with an Ingress without a host', { ...MINIMAL, ingress: { enabled: true } }, 'ingress.gatewayHost'],
  ])('%s are refused by name', async (_what, values, name) => {
    await expect(renderText(values)).rejects.toThrow(name)
  })

  it('are all described by the schema', () => {
    const values = parse(readFileSync(path.join(CHART, 'values.yaml'), 'utf8')) as object
    const schema = JSON.parse(readFileSync(path.join(CHART, 'values.schema.json'), 'utf8')) as {
      readonly properties: object
    }
    expect(
      Object.keys(schema.properties)
        .filter((name) => name !== 'global')
        .toSorted(),
    ).toEqual(Object.keys(values).toSorted())
  })
})

describe('the connections to Postgres', () => {
  it.each<[string, object, number]>([
    ['the defaults', MINIMAL, 300],
    ['a consumer with more processes', { ...MINIMAL, services: { metering: { replicas: 5 } } }, 336],
    ['scaling up to the partitions', { ...MINIMAL, keda: { enabled: true } }, 1008],
    ['scaling up to a number', { ...MINIMAL, keda: { enabled: true, maxReplicas: 6 } }, 576],
  ])('are counted in the notes for an upgrade with %s', async (_what, values, connections) => {
    expect(await renderNotes(values)).toContain(`\`max_connections\` of at least ${connections};`)
  })

  it('are in the guides, for the defaults', () => {
    for (const guide of ['kubernetes', 'operate'])
      expect(readFileSync(path.join(CHECKOUT, `docs/guides/${guide}.md`), 'utf8')).toMatch(/max_connections[^]*\b300\b/)
  })
})

describe('the guide', () => {
  const guide = readFileSync(path.join(CHECKOUT, 'docs/guides/kubernetes.md'), 'utf8')
  const listed = Array.from(guide.matchAll(/^\| `([A-Z_]+)` \|/gm), ([, key = '']) => key)

  it('lists the keys of the Secret that the chart reads', () => {
    const keys = NAMES.flatMap(podsOf).flatMap(({ container }) =>
      container.env.flatMap(({ valueFrom: { secretKeyRef: { name = '', key = '' } = {} } = {} }) =>
        name === '' || name === EVERYTHING.tracing.headersSecret ? [] : key,
      ),
    )
    expect(listed.toSorted()).toEqual([...new Set(keys)].toSorted())
  })

  it('creates a Secret with these keys, and with the roles of the consumers', () => {
    const created = Array.from(guide.matchAll(/--from-literal=([A-Z_]+)=.*\\?$/gm), ([, key = '']) => key)
    expect(listed.filter((key) => !created.includes(key))).toEqual([
      'CONSOLE_VIEWER_TOKEN',
      'CONSOLE_OIDC_CLIENT_SECRET',
    ])
    for (const { role, databaseVariable } of consumers) {
      expect(guide).toContain(`--from-literal=${databaseVariable}="postgresql://${role}:`)
    }
  })

  it('shows values that the chart takes', async () => {
    const blocks = Array.from(guide.matchAll(/^ *```yaml\n([^]*?)```/gm), ([, block = '']) => parse(block) as object)
    expect(blocks.length).toBeGreaterThanOrEqual(3)
    for (const block of blocks.filter((one) => !('organizations' in one)))
      await expect(renderText({ ...MINIMAL, ...block })).resolves.toContain('kind: Deployment')
  })
})

describe('faultsOf', () => {
  it.each<[string, (container: Record<string, unknown>) => void, string]>([
    [
      'an unknown member',
      (container) => Object.assign(container, { readinessProb: {} }),
      '.containers[].readinessProb',
    ],
    ['a wrong type', (container) => Object.assign(container, { image: 7 }), 'image'],
    ['a missing member', (container) => delete container['name'], 'name'],
  ])('names %s', async (_what, change, fault) => {
    const object = aDeployment()
    if (!object) throw new RangeError('no Deployment')
    change(podOf(object)?.containers[0] as unknown as Record<string, unknown>)
    expect((await faultsOf(object)).join('\n')).toContain(fault)
  })
})
