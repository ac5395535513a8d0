/** The least that an operator sets. */
export const MINIMAL = { kafka: { brokers: ['kafka-0.kafka:9092', 'kafka-1.kafka:9092'] } }

/** Everything that can be on at once. */
export const EVERYTHING = {
  image: {
    repository: 'registry.example.com/nextvisit',
    digest: `sha256:${'0'.repeat(64)}`,
    pullSecrets: ['registry'],
  },
  kafka: {
    ...MINIMAL.kafka,
    partitions: '12/24',
    sasl: { mechanism: 'scram-sha-512', username: 'nextvisit' },
  },
  tracing: { endpoint: 'http://collector.observability:4318', ratio: 0.01, headersSecret: 'collector' },
  trustedCertificates: { configMap: 'authorities' },
  secrets: { externalSecret: { enabled: true, store: { name: 'vault' }, remoteKey: 'feedback/nextvisit' } },
  topics: { erasureKeyRetention: '90m' },
  workspace: { file: 'organizations: []\n', existingSecret: 'keys', prune: true },
  defaults: {
    env: { ADDRESS_LOOKUP_MS: 2_000 },
    tolerations: [{ key: 'pool', operator: 'Exists' }],
    nodeSelector: { pool: 'feedback' },
    priorityClassName: 'high',
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }] }],
        },
      },
    },
    podLabels: { 'example.com/mesh': 'off' },
    podAnnotations: { 'example.com/team': 'feedback' },
  },
  services: {
    gateway: { shutdownDelayMs: 15_000 },
    metering: { replicas: 3, podLabels: { 'example.com/tier': 'counting' }, env: { LOG_LEVEL: 'debug' } },
    'webhook-dispatcher': { env: { WEBHOOK_ALLOWED_NETWORKS: '10.1.0.0/16', WEBHOOK_RETRY_DELAYS: '5s,5m' } },
  },
  console: {
    publicUrl: 'https://ops.example.com/nextvisit',
    oidc: {
      issuer: 'https://sso.example.com/realms/staff',
      clientId: 'nextvisit',
      name: 'Staff',
      rolesClaim: 'realm_access.roles',
      operators: ['Platform Team', 'on-call'],
    },
    allowReplays: true,
    persistence: { enabled: true, storageClassName: 'fast' },
  },
  keda: { enabled: true },
  gatewayAutoscaling: { enabled: true },
  networkPolicies: { gatewayFrom: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }] },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  dashboards: { enabled: true },
  ingress: {
    enabled: true,
    className: 'nginx',
    annotations: { 'example.com/timeout': '5' },
    gatewayHost: 'api.example.com',
    consoleHost: 'ops.example.com',
    tls: [{ hosts: ['api.example.com'], secretName: 'certificate' }],
  },
  httpRoute: {
    enabled: true,
    parentRefs: [{ name: 'public', namespace: 'gateways' }],
    gatewayHost: 'api.example.com',
    consoleHost: 'ops.example.com',
  },
  gatewayService: {
    type: 'LoadBalancer',
    annotations: { 'example.com/internal': 'true' },
    trustedProxies: ['10.0.0.0/8'],
  },
  serviceAccount: { annotations: { 'example.com/role': 'feedback' } },
}

/** Installations that differ in what the chart renders. */
export const MATRIX: readonly (readonly [name: string, values: object])[] = [
  ['minimal', MINIMAL],
  ['everything', EVERYTHING],
  [
    'TLS with the authorities in a Secret, and SASL',
    {
      kafka: { ...MINIMAL.kafka, sasl: { mechanism: 'plain', username: 'nextvisit' } },
      trustedCertificates: { secret: 'authorities' },
      keda: { enabled: true },
    },
  ],
  ['TLS without SASL, scaled by offsets', { ...MINIMAL, keda: { enabled: true, maxReplicas: 6 } }],
  [
    'scaled by seconds',
    { ...MINIMAL, keda: { enabled: true, prometheusAddress: 'http://prometheus-operated.monitoring:9090' } },
  ],
  [
    'no console, budgets or policies',
    {
      ...MINIMAL,
      console: { enabled: false },
      disruptionBudgets: { enabled: false },
      networkPolicies: { enabled: false },
    },
  ],
  [
    'an account, and a workspace file of its own',
    {
      ...MINIMAL,
      serviceAccount: { existingName: 'feedback' },
      workspace: { existingConfigMap: 'workspace', key: 'acme.yaml' },
    },
  ],
  ['a pod for commands', { ...MINIMAL, commands: { enabled: true }, defaults: { replicas: 3 } }],
  ['no hooks', { ...MINIMAL, migrate: { enabled: false }, topics: { enabled: false } }],
  [
    'on one machine',
    { ...MINIMAL, mode: 'local', kafka: { ...MINIMAL.kafka, tls: false, replicas: 1 }, defaults: { replicas: 1 } },
  ],
]
