import { type Condition, type EventTracked, type Form, ProjectConfig } from '@nextvisit/contracts'
import { eventTracked } from '@nextvisit/contracts/fixtures'
import {
  type EventHistory,
  momentOf,
  type OpenRow,
  queuedIdOf,
  queueOf,
  type ShownForm,
  type TriggerContext,
  type UserState,
} from '@nextvisit/domain'

/** A record, and the user's state before it. */
export interface Evaluation {
  readonly user: UserState
  readonly context: TriggerContext
  /** The event; undefined for a visit. */
  readonly fact: EventTracked | undefined
}

const FORMS = 50
const USERS = 2_000
const RECORDS = 50_000
/** Number of event names in the project; forms react to the first {@link REACTED_TO}. */
const SLUGS = 200
const REACTED_TO = 40
const VISIT_SHARE = 0.08
const NOW = Date.parse('2026-11-02T10:00:00.000Z')
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** Creates the load, equal on every machine: forms of every kind, users with a history, and a few frequent events among many. */
export function evaluationLoad(): { readonly project: ProjectConfig; readonly evaluations: readonly Evaluation[] } {
  const random = createRandom(1)
  const users = Array.from({ length: USERS }, (_, at) => userOf(at, random))
  const evaluations = Array.from({ length: RECORDS }, () =>
    evaluationOf(users[Math.floor(random() * USERS)] ?? userOf(0, random), random),
  )
  return { project: projectConfig(), evaluations }
}

function projectConfig(): ProjectConfig {
  return ProjectConfig.parse({
    id: 'shop',
    formCooldown: '1h',
    segments: [
      { id: 'active', where: { event: slugOf(3), atLeast: 3, within: '7d' } },
      {
        id: 'paying',
        where: { all: [{ trait: 'plan', in: ['pro', 'team'] }, { not: { trait: 'churned', is: true } }] },
      },
      { id: 'fans', where: { all: [{ segment: 'active' }, { segment: 'paying' }] } },
    ],
    forms: Array.from({ length: FORMS }, (_, at) => formOf(at)),
  })
}

function formOf(at: number): Partial<Form> {
  const event = slugOf(at % REACTED_TO)
  const triggers: Form['triggers'][] = [
    [{ event }],
    [{ event, count: 3, within: '7d' }],
    [
      { event, count: 2 },
      { event: slugOf((at * 7) % REACTED_TO), count: 5, within: '1d' },
    ],
    [{ event, count: 2, since: 'session' }],
    [{ visit: {} }],
  ]
  const audiences: (Condition | undefined)[] = [
    undefined,
    { segment: 'fans' },
    {
      all: [
        { trait: 'plan', is: 'pro' },
        { event: slugOf(5), atLeast: 2, within: '30d' },
      ],
    },
    {
      any: [
        { device: '$deviceOs', is: 'iOS' },
        { trait: 'age', atLeast: 30 },
        { trait: 'signedUpAt', after: '-90d' },
      ],
    },
  ]
  const repeats: Form['frequency']['repeat'][] = ['once', 'always', { every: '30d' }, { times: 3 }]
  const isOnEveryEvent = at === FORMS - 1
  return {
    id: `form-${at}`,
    triggers: isOnEveryEvent ? [{ firstSeen: { after: '3d' } }] : (triggers[at % triggers.length] ?? []),
    audience: audiences[at % audiences.length],
    frequency: { repeat: repeats[at % repeats.length] ?? 'once' },
    sample: at % 3 === 0 ? 25 : 100,
    priority: at % 4,
  }
}

function userOf(at: number, random: () => number): Evaluation['user'] {
  const traits = Array.from({ length: 20 }, (_, trait): [string, number] => [`trait_${trait}`, trait])
  const slugs = Array.from({ length: 15 }, () => slugAtRandom(random))
  const shown = Array.from({ length: Math.floor(random() * 6) }, (): [string, ShownForm] => [
    `form-${Math.floor(random() * FORMS)}`,
    { times: 1, lastAt: new Date(NOW - random() * 10 * DAY).toISOString() },
  ])
  const open = Array.from({ length: Math.floor(random() * 3) }, () => openRow(`form-${Math.floor(random() * FORMS)}`))
  return {
    userId: `${at.toString(16).padStart(8, '0')}-0000-5000-8000-000000000000`,
    profile: {
      traits: new Map<string, string | number | boolean>([
        ...traits,
        ['plan', random() < 0.4 ? 'pro' : 'free'],
        ['age', Math.floor(random() * 80)],
        ['churned', random() < 0.1],
        ['signedUpAt', new Date(NOW - random() * 365 * DAY).toISOString()],
      ]),
      traitBytes: 0,
      device: { $deviceOs: random() < 0.5 ? 'iOS' : 'Android', $countryCode: 'DE' },
    },
    firstSeenAt: NOW - random() * 100 * DAY,
    sessionStartedAt: NOW - 20 * MINUTE,
    lastSdkContactAt: NOW - MINUTE,
    answers: new Map(),
    events: new Map(slugs.map((slug) => [slug, historyOf(Math.ceil(random() * 50))])),
    queue: queueOf(open, new Map(shown)),
  }
}

function historyOf(total: number): EventHistory {
  return {
    total,
    latest: Array.from({ length: total }, (_, at) => NOW - (total - at) * 6 * 60 * MINUTE),
    session: { startedAt: NOW - 20 * MINUTE, count: 1 },
  }
}

function openRow(formId: string): OpenRow {
  const causeId = '00000000-0000-5000-8000-000000000000'
  const queuedAt = new Date(NOW - 60 * MINUTE).toISOString()
  return {
    organization: 'acme',
    project: 'shop',
    userId: causeId,
    id: queuedIdOf(causeId, queuedAt, formId),
    formId,
    environment: 'P',
    state: 'waiting',
    priority: 0,
    queuedAt,
    showFrom: queuedAt,
    expiresAt: null,
    offeredAt: null,
    shownAt: null,
    visitId: null,
    startedAt: null,
    endedAt: null,
    answerStatus: null,
    causeId,
    causeOffset: null,
    catalogRevision: 1,
  }
}

function evaluationOf(user: Evaluation['user'], random: () => number): Evaluation {
  const received = momentOf(new Date(NOW).toISOString())
  if (random() < VISIT_SHARE) {
    return { user, context: { visit: { startsSession: random() < 0.3 }, received }, fact: undefined }
  }
  const slug = slugAtRandom(random)
  const fact = eventTracked({ source: 'sdk', userId: user.userId, eventName: slug, slug, received: received.iso })
  return { user, context: { event: { slug, source: 'sdk', occurredAt: NOW }, received }, fact }
}

/** Picks an event name. A few names make up most events; forms react to these by chance. */
function slugAtRandom(random: () => number): string {
  return slugOf((Math.floor(SLUGS * random() ** 2) * 37) % SLUGS)
}

function slugOf(at: number): string {
  return `event_${at}`
}

/** Creates a random number generator (Mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
