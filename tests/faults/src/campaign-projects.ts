import { randomBytes } from 'node:crypto'
import { createApiKey, hashApiKey } from '@nextvisit/domain'
import { HOOK_SECRET } from './config.ts'

/** A project and the keys of its back end and its pages. */
export interface CampaignProject {
  readonly organization: string
  readonly project: string
  readonly adminKey: string
  readonly sdkKey: string
}

export interface LimitedProject extends CampaignProject {
  readonly eventsPerMonth: number
}

/** Two projects of one organization and one of another. They use the same user names and slugs. */
const PROJECTS = [
  { organization: 'acme', project: 'shop' },
  { organization: 'acme', project: 'app' },
  { organization: 'globex', project: 'shop' },
] as const

const NEVER_LIMITED = { perSecond: 10_000, burst: 20_000 }

/**
 * Forms that react to one event: once per user, at every event, and one that queues behind the others and expires. Forms
 * that depend on the user's history: a count in a window, a count in a session, a visit.
 */
const FORM_RULES = [
  { id: 'once', triggers: [{ event: 'signed_in' }], priority: 1 },
  { id: 'always', triggers: [{ event: 'checkout_completed' }], frequency: { repeat: 'always' }, priority: 5 },
  {
    id: 'short-lived',
    triggers: [{ event: 'export_done' }],
    audience: { trait: 'plan', is: 'pro' },
    frequency: { repeat: { times: 3 } },
    expiresAfter: '20s',
  },
  {
    id: 'reader',
    triggers: [{ event: 'page_viewed', count: 2, within: '5m' }],
    audience: { all: [{ segment: 'paying' }, { not: { event: 'export_done', atLeast: 2, within: '1m' } }] },
    frequency: { repeat: { every: '1m' } },
    sample: 80,
    expiresAfter: '10s',
  },
  {
    id: 'large-order',
    triggers: [{ event: 'checkout_completed', where: { property: 'cart.total', atLeast: 50 } }],
    frequency: { repeat: 'always' },
    expiresAfter: '20s',
  },
  {
    id: 'large-orders',
    triggers: [
      {
        event: 'checkout_completed',
        count: 1,
        within: '5m',
        where: { all: [{ property: 'cart.total', atLeast: 30 }, { not: { property: 'cart.total', atLeast: 90 } }] },
      },
    ],
    audience: { not: { event: 'checkout_completed', atLeast: 9, where: { property: 'cart.total', atLeast: 50 } } },
    frequency: { repeat: { times: 5 } },
    expiresAfter: '20s',
  },
  { id: 'this-session', triggers: [{ event: 'page_viewed', since: 'session' }], delay: '1h' },
  { id: 'back-again', triggers: [{ visit: {} }, { firstSeen: { after: '1m' } }], sample: 50, delay: '1h' },
]

const FORMS = FORM_RULES.map((form) => ({
  ...form,
  content: {
    elements: [
      { id: 'score', type: 'nps', label: 'How likely?' },
      { id: 'reason', type: 'text', label: 'Why?' },
    ],
  },
}))

/**
 * Creates new keys, and a workspace file with their hashes (as JSON, which is valid YAML). `hookUrl`: the endpoint of the webhooks of the
 * projects with forms.
 */
export function createCampaignProjects(hookUrl: string): {
  readonly projects: readonly CampaignProject[]
  /** A project without forms, in an organization far below its event limit. */
  readonly busy: CampaignProject
  /** A project in another organization, which soon reaches its limit. */
  readonly limited: LimitedProject
  /** A project in an organization without a plan and with the default rate limits. */
  readonly hostile: CampaignProject
  readonly workspace: string
} {
  const projects = PROJECTS.map(withKeys)
  const busy = withKeys({ organization: 'initech', project: 'shop' })
  const hostile = withKeys({ organization: 'mallory', project: 'shop' })
  const organizations = Map.groupBy(projects, ({ organization }) => organization)
  const limited = { ...withKeys({ organization: 'umbrella', project: 'shop' }), eventsPerMonth: 3_000 }
  const calm = [...organizations].map(([id, members]) => ({
    id,
    plan: { eventsPerMonth: 1_000_000, monthlyActiveUsers: 100_000, uniqueEvents: 50, uniqueTraits: 50 },
    projects: members.map(({ project, adminKey, sdkKey }) => ({
      id: project,
      rateLimits: { admin: NEVER_LIMITED, sdk: NEVER_LIMITED },
      keys: keysOf({ adminKey, sdkKey }),
      segments: [
        { id: 'paying', where: { trait: 'plan', is: 'pro' } },
        {
          id: 'spending',
          where: {
            event: 'checkout_completed',
            atLeast: 1,
            within: '1m',
            where: { property: 'cart.total', atLeast: 50 },
          },
        },
      ],
      forms: FORMS,
      webhooks: [{ id: 'crm', url: hookUrl, secret: `$${HOOK_SECRET}`, include: ['traits'] }],
    })),
  }))
  const organizationOfHostile = { id: hostile.organization, projects: [{ id: hostile.project, keys: keysOf(hostile) }] }
  const file = {
    organizations: [
      ...calm,
      busyOrganization(busy, 10_000_000),
      busyOrganization(limited, limited.eventsPerMonth),
      organizationOfHostile,
    ],
  }
  return { projects, busy, limited, hostile, workspace: JSON.stringify(file, null, 2) }
}

function busyOrganization(one: CampaignProject, eventsPerMonth: number): object {
  const rateLimits = { admin: NEVER_LIMITED, sdk: NEVER_LIMITED }
  return {
    id: one.organization,
    plan: { eventsPerMonth },
    projects: [{ id: one.project, rateLimits, keys: keysOf(one) }],
  }
}

function withKeys(ref: Pick<CampaignProject, 'organization' | 'project'>): CampaignProject {
  return { ...ref, adminKey: newKey('admin'), sdkKey: newKey('sdk') }
}

function newKey(kind: 'admin' | 'sdk'): string {
  return createApiKey(kind, 'P', randomBytes(32))
}

function keysOf({ adminKey, sdkKey }: Pick<CampaignProject, 'adminKey' | 'sdkKey'>) {
  return [
    { name: 'backend', kind: 'admin', environment: 'P', sha256: hashApiKey(adminKey), mayErase: true },
    { name: 'web', kind: 'sdk', environment: 'P', sha256: hashApiKey(sdkKey) },
  ]
}
