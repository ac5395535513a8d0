import { createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { LIVE_OUTCOMES, MAX_DEPTH, NAME_KINDS } from '../../../src/shared-with-pages.ts'
import { Catalog } from '../catalog/catalog.tsx'
import { changesSearchOf } from '../changes/changes-search.ts'
import { Changes } from '../changes/changes.tsx'
import { DecidedDeadLetters } from '../dead-letters/decided-dead-letters.tsx'
import { DeadLetterDetails } from '../dead-letters/dead-letter-details.tsx'
import { DeadLettersOfCause } from '../dead-letters/dead-letters-of-cause.tsx'
import { Erasure } from '../erasures/erasure.tsx'
import { Erasures } from '../erasures/erasures.tsx'
import { Form } from '../forms/form.tsx'
import { Forms } from '../forms/forms.tsx'
import type { LiveSearch } from '../live/feed.tsx'
import { Live } from '../live/live.tsx'
import { Operations } from '../operations/operations.tsx'
import { Overview } from '../overview/overview.tsx'
import { Registry } from '../registry/registry.tsx'
import { Replay } from '../replay/replay.tsx'
import { Segment } from '../segments/segment.tsx'
import { Segments } from '../segments/segments.tsx'
import { Simulation } from '../simulation/simulation.tsx'
import { TryIt } from '../try-it/try-it.tsx'
import { FindUser } from '../users/find-user.tsx'
import { User } from '../users/user.tsx'
import { environmentOf, formSearchOf } from './form-search.ts'
import { root } from './root-route.tsx'
import { pageOf, text, whole } from './search-values.ts'
import { delivery, endpoint, webhooks } from './webhook-routes.ts'

const USER_TABS = ['timeline', 'forms', 'webhooks', 'profile'] as const
type UserTab = (typeof USER_TABS)[number]

/** `depth`: number of steps back in the timeline. `request`: its entries are highlighted. */
interface UserSearch {
  readonly tab?: UserTab | undefined
  readonly depth?: number | undefined
  readonly request?: string | undefined
}

/** `cause`: its id. `after`: last dead letter of the previous page. `decision`: the last decision on this page. */
interface DeadLettersSearch {
  readonly cause?: string | undefined
  readonly after?: number | undefined
  readonly decision?: string | undefined
}

const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: Overview,
  staticData: { title: 'Overview' },
})

const live = createRoute({
  getParentRoute: () => root,
  path: '/live',
  component: Live,
  staticData: { title: 'Live' },
  validateSearch: (search): LiveSearch => ({
    project: text(search['project']),
    event: text(search['event']),
    outcome: LIVE_OUTCOMES.find((outcome) => outcome === search['outcome']),
  }),
})

const findUser = createRoute({
  getParentRoute: () => root,
  path: '/users',
  component: FindUser,
  staticData: { title: 'Users' },
  validateSearch: (search): { readonly project?: string | undefined } => ({ project: text(search['project']) }),
})

const user = createRoute({
  getParentRoute: () => root,
  path: '/users/$organization/$project/$userId',
  component: User,
  staticData: { title: 'User' },
  validateSearch: (search): UserSearch => ({
    tab: USER_TABS.find((tab) => tab === search['tab']),
    depth: whole(search['depth'], 2, MAX_DEPTH),
    request: text(search['request']),
  }),
})

const erasures = createRoute({
  getParentRoute: () => root,
  path: '/erasures',
  component: Erasures,
  staticData: { title: 'Erasures' },
  validateSearch: (search): { readonly project?: string | undefined; readonly after?: string | undefined } => ({
    project: text(search['project']),
    after: text(search['after']),
  }),
})

const erasure = createRoute({
  getParentRoute: () => root,
  path: '/erasures/$organization/$project/$erasureId',
  component: Erasure,
  staticData: { title: 'Erasure' },
})

/** Type aliases, because the router requires an index signature. */
type FormsSearch = Partial<ReturnType<typeof environmentOf> & ReturnType<typeof pageOf>> & {
  readonly project?: string | undefined
  readonly find?: string | undefined
}

const forms = createRoute({
  getParentRoute: () => root,
  path: '/forms',
  component: Forms,
  staticData: { title: 'Forms' },
  validateSearch: (search): FormsSearch => ({
    project: text(search['project']),
    find: text(search['find']),
    ...environmentOf(search),
    ...pageOf(search),
  }),
})

const form = createRoute({
  getParentRoute: () => root,
  path: '/forms/$organization/$project/$formId',
  component: Form,
  staticData: { title: 'Form' },
  validateSearch: formSearchOf,
})

const segments = createRoute({
  getParentRoute: () => root,
  path: '/segments',
  component: Segments,
  staticData: { title: 'Segments' },
  validateSearch: (search): Pick<FormsSearch, 'project' | 'page'> => ({
    project: text(search['project']),
    ...pageOf(search),
  }),
})

const segment = createRoute({
  getParentRoute: () => root,
  path: '/segments/$organization/$project/$segmentId',
  component: Segment,
  staticData: { title: 'Segment' },
  validateSearch: (search): { readonly after?: string | undefined } => ({ after: text(search['after']) }),
})

const registry = createRoute({
  getParentRoute: () => root,
  path: '/registry',
  component: Registry,
  staticData: { title: 'Registry and usage' },
  validateSearch: (
    search,
  ): {
    readonly project?: string | undefined
    readonly kind?: (typeof NAME_KINDS)[number] | undefined
    readonly prefix?: string | undefined
  } => ({
    project: text(search['project']),
    kind: NAME_KINDS.find((kind) => kind === search['kind']),
    prefix: text(search['prefix']),
  }),
})

const operations = createRoute({
  getParentRoute: () => root,
  path: '/operations',
  component: Operations,
  staticData: { title: 'Operations' },
  validateSearch: (search): { readonly consumer?: string | undefined; readonly partitions?: 'all' | undefined } => ({
    consumer: text(search['consumer']),
    partitions: search['partitions'] === 'all' ? 'all' : undefined,
  }),
})

const catalog = createRoute({
  getParentRoute: () => root,
  path: '/operations/catalog',
  component: Catalog,
  staticData: { title: 'Catalog revisions' },
  validateSearch: (search): { readonly organization?: string | undefined } => ({
    organization: text(search['organization']),
  }),
})

const changes = createRoute({
  getParentRoute: () => root,
  path: '/operations/changes',
  component: Changes,
  staticData: { title: 'Changes' },
  validateSearch: changesSearchOf,
})

const deadLettersOfCause = createRoute({
  getParentRoute: () => root,
  path: '/operations/$consumer/dead-letters',
  component: DeadLettersOfCause,
  staticData: { title: 'Dead letters' },
  validateSearch: (search): DeadLettersSearch => ({
    cause: text(search['cause']),
    after: Number.isSafeInteger(search['after']) ? Number(search['after']) : undefined,
    decision: text(search['decision']),
  }),
})

const deadLetter = createRoute({
  getParentRoute: () => root,
  path: '/operations/$consumer/dead-letters/$id',
  component: DeadLetterDetails,
  staticData: { title: 'Dead letter' },
  validateSearch: (search): { readonly decision?: string | undefined } => ({ decision: text(search['decision']) }),
})

const decidedDeadLetters = createRoute({
  getParentRoute: () => root,
  path: '/operations/$consumer/decided-letters',
  component: DecidedDeadLetters,
  staticData: { title: 'Decided letters' },
  validateSearch: (search): { readonly after?: string | undefined } => ({ after: text(search['after']) }),
})

const replay = createRoute({
  getParentRoute: () => root,
  path: '/operations/replay',
  component: Replay,
  staticData: { title: 'Replay' },
  validateSearch: (search): { readonly consumer?: string | undefined } => ({ consumer: text(search['consumer']) }),
})

const simulation = createRoute({
  getParentRoute: () => root,
  path: '/forms/simulation',
  component: Simulation,
  staticData: { title: 'Simulation' },
  validateSearch: (search): { readonly days?: number | undefined } => ({ days: whole(search['days'], 1) }),
})

const runbook = createRoute({
  getParentRoute: () => root,
  path: '/runbooks/$name',
  // Loaded on demand: the Markdown parser is a fifth of the bundle.
  component: lazyRouteComponent(() => import('../runbooks/runbook.tsx'), 'Runbook'),
  staticData: { title: 'Runbook' },
})

const tryIt = createRoute({
  getParentRoute: () => root,
  path: '/try',
  component: TryIt,
  staticData: { title: 'Try it' },
})

export const router = createRouter({
  routeTree: root.addChildren([
    overview,
    live,
    findUser,
    user,
    erasures,
    erasure,
    forms,
    form,
    simulation,
    segments,
    segment,
    webhooks,
    endpoint,
    delivery,
    registry,
    operations,
    catalog,
    changes,
    deadLettersOfCause,
    decidedDeadLetters,
    deadLetter,
    replay,
    runbook,
    tryIt,
  ]),
  // Set by the server.
  basepath: new URL(document.baseURI).pathname,
  defaultPreload: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
  interface StaticDataRouteOption {
    /** Title of the browser tab. Never personal data: titles stay in the browser's history. */
    readonly title?: string
  }
}
