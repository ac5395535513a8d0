/** A limit that a plan can set. */
interface LimitDefinition {
  /** Member of the plan in the workspace file. Absent there: unlimited, up to `bound`. */
  readonly name: string
  /** Maximum in every project, under any plan (decisions.md, Bounds); null: none. */
  readonly bound: number | null
  /** Owner of the count. The projects of an organization share its limit. */
  readonly of: 'organization' | 'project'
  /** The count restarts every month. Names are kept. */
  readonly isMonthly: boolean
  /** Member of a usage answer, with its description. */
  readonly usage: string
  readonly counts: string
  /** Mark of a record that was admitted without the check. */
  readonly unchecked: string
  /** Name of the refusal over the limit; null: nothing is refused. */
  readonly refusal: string | null
  readonly title: string
  /** Effect of the reached limit, and the requests that still pass. */
  readonly whenReached: { readonly effect: string; readonly stillPass?: string }
}

interface MonthlyLimit extends LimitDefinition {
  /** A record counts once, or its user counts once a month. */
  readonly unit: 'record' | 'user'
}

/** Limits that metering counts and grants, by the `kind` of its counter. */
export const MONTHLY_LIMITS = {
  event: {
    name: 'eventsPerMonth',
    bound: null,
    of: 'organization',
    isMonthly: true,
    unit: 'record',
    usage: 'events',
    counts: 'Events of the organization in environment P.',
    unchecked: 'event-limit',
    refusal: 'eventLimit',
    title: 'Events a month',
    whenReached: { effect: 'events with a production key are refused (402)' },
  },
  mau: {
    name: 'monthlyActiveUsers',
    bound: null,
    of: 'project',
    isMonthly: true,
    unit: 'user',
    usage: 'monthlyActiveUsers',
    counts: 'Users of the project who were identified this month, in both environments.',
    unchecked: 'mau',
    refusal: 'mau',
    title: 'Monthly active users',
    whenReached: { effect: 'users not yet counted this month are refused (400)', stillPass: 'The others pass.' },
  },
} as const satisfies Readonly<Record<string, MonthlyLimit>>
export type CounterKind = keyof typeof MONTHLY_LIMITS

/** Caps on the names of a project, which the trait registry grants, by the kind of name. */
export const NAME_CAPS = {
  event: {
    name: 'uniqueEvents',
    bound: 10_000,
    of: 'project',
    isMonthly: false,
    usage: 'uniqueEvents',
    counts: 'Names of events that the project uses.',
    unchecked: 'event-name',
    refusal: 'uniqueEvents',
    title: 'Event names',
    whenReached: { effect: 'events with a new name are refused (400)', stillPass: 'Known names pass.' },
  },
  trait: {
    name: 'uniqueTraits',
    bound: 5_000,
    of: 'project',
    isMonthly: false,
    usage: 'uniqueTraits',
    counts: 'Names of traits that the project uses, without disabled ones.',
    unchecked: 'traits',
    refusal: null,
    title: 'Trait names',
    whenReached: { effect: 'new traits are dropped from records', stillPass: 'Known ones pass.' },
  },
} as const satisfies Readonly<Record<string, LimitDefinition>>
export type NameKind = keyof typeof NAME_CAPS

/** Every limit of a plan, in the order of the console. A new one is a row above: CONTRIBUTING.md, Add a limit. */
export const PLAN_LIMITS = [...Object.values(MONTHLY_LIMITS), ...Object.values(NAME_CAPS)]
export type PlanLimit = (typeof PLAN_LIMITS)[number]

/** Builds an object with a value for each limit, by its `name` or its member `usage`. */
export function mapLimits<Member extends 'name' | 'usage', Value>(
  member: Member,
  valueOf: (limit: PlanLimit) => Value,
): Record<PlanLimit[Member], Value> {
  const entries = PLAN_LIMITS.map((limit) => [limit[member], valueOf(limit)])
  return Object.fromEntries(entries) as Record<PlanLimit[Member], Value>
}
