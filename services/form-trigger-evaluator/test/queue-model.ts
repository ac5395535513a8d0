import { createHash } from 'node:crypto'
import { type Condition, durationMs, type Form, type ProjectConfig, type Trigger } from '@nextvisit/contracts'

/**
 * The queue as forms.md describes it, for `queue-model.int.spec.ts`: lists that are searched, no index, and no code of the
 * evaluator or of the domain. Instants in ms.
 */
export interface ModelRow {
  readonly user: string
  readonly form: string
  readonly cause: string
  readonly queuedAt: number
  readonly priority: number
  readonly showFrom: number
  readonly expiresAt: number | null
  state: 'waiting' | 'offered' | 'delivered' | 'expired' | 'cancelled'
  offeredAt: number | null
  shownAt: number | null
  visitId: string | null
}

interface ModelUser {
  readonly id: string
  plan?: string | undefined
  firstSeen?: number
  session?: number
  lastContact?: number
  readonly happened: { readonly slug: string; readonly at: number; readonly session: number | undefined }[]
}

interface ModelEvent {
  readonly id: string
  readonly user: string
  readonly slug: string
  readonly source: 'admin' | 'sdk'
  readonly at: number
  readonly received: number
  readonly isLate: boolean
}

interface ModelIdentify {
  readonly id: string
  readonly user: string
  readonly source: 'admin' | 'sdk'
  readonly plan: string | undefined
  readonly received: number
  /** A gateway waits for the reply. */
  readonly isHeard: boolean
}

interface ModelAnswer {
  readonly visitId: string
  readonly received: number
  readonly row: ModelRow
}

/** A record in the form that triggers match. */
interface TriggerInput {
  readonly slug?: string
  readonly source?: 'admin' | 'sdk'
  readonly startsSession?: boolean
  /** The end of a trigger's window. */
  readonly at: number
  readonly received: number
}

const MINUTE = 60_000
const OFFER_HOLDS = 30_000

export class QueueModel {
  project: ProjectConfig
  readonly rows: ModelRow[] = []
  /** The last by `user form`. */
  readonly decisions = new Map<string, { readonly outcome: string; readonly record: string }>()
  /** Facts for `form-events` since the last look: `FormQueued user form`. */
  told: string[] = []
  readonly #users = new Map<string, ModelUser>()

  constructor(project: ProjectConfig) {
    this.project = project
  }

  identify(fact: ModelIdentify): { readonly row: ModelRow | undefined; readonly moreWaiting: boolean } {
    const user = this.#user(fact.user)
    user.plan = fact.plan ?? user.plan
    user.firstSeen = Math.min(user.firstSeen ?? fact.received, fact.received)
    if (fact.source === 'admin') return { row: undefined, moreWaiting: false }
    const { received } = fact
    const startsSession = user.session === undefined || received - (user.lastContact ?? received) >= 30 * MINUTE
    if (startsSession) user.session = received
    user.lastContact = Math.max(user.lastContact ?? received, received)
    this.#evaluate(user, fact.id, { startsSession, at: received, received })
    return fact.isHeard ? this.#offer(user, received) : { row: undefined, moreWaiting: false }
  }

  /** Returns the number of forms that the event has queued, now or when it was processed before. */
  track({ id, user: name, slug, source, at, received, isLate }: ModelEvent): number {
    const user = this.#user(name)
    user.happened.push({ slug, at, session: source === 'sdk' ? user.session : undefined })
    if (source === 'sdk') user.lastContact = Math.max(user.lastContact ?? received, received)
    if (isLate) return 0
    this.#evaluate(user, id, { slug, source, at: Math.max(at, received), received })
    return this.rows.filter((row) => row.cause === id && row.queuedAt === received).length
  }

  answer({ visitId, received, row }: ModelAnswer): void {
    if (row.state === 'delivered' && row.visitId === visitId) return
    row.shownAt = Math.max(row.shownAt ?? received, received)
    row.visitId = visitId
    this.#move(row, 'delivered')
  }

  /** Does the work of a tick. */
  tick(now: number): void {
    for (const row of this.rows) {
      this.#passTime(row, now)
      if (row.state === 'waiting' && !this.#form(row.form)?.enabled) this.#move(row, 'cancelled')
    }
  }

  #user(id: string): ModelUser {
    const user = this.#users.get(id) ?? { id, happened: [] }
    this.#users.set(id, user)
    return user
  }

  #form(id: string): Form | undefined {
    return this.project.forms.find((form) => form.id === id)
  }

  #move(row: ModelRow, state: ModelRow['state']): void {
    row.state = state
    row.offeredAt = null
    const told = { waiting: '', offered: '', delivered: 'Delivered', expired: 'Expired', cancelled: 'Cancelled' }[state]
    if (told) this.told.push(`Form${told} ${row.user} ${row.form}`)
  }

  #passTime(row: ModelRow, now: number): void {
    if (row.state === 'offered' && now - (row.offeredAt ?? now) >= OFFER_HOLDS) this.#move(row, 'waiting')
    if (row.state === 'waiting' && row.expiresAt !== null && now >= row.expiresAt) this.#move(row, 'expired')
  }

  #evaluate(user: ModelUser, record: string, input: TriggerInput): void {
    const { received } = input
    for (const row of this.rows) if (row.user === user.id) this.#passTime(row, received)
    for (const form of this.project.forms) {
      if (!form.triggers.some((trigger) => this.#matches(user, trigger, input))) continue
      const isDone = ({ cause, queuedAt, form: id }: ModelRow) =>
        cause === record && queuedAt === received && id === form.id
      if (this.rows.some(isDone)) continue
      const refused = this.#refusal(user, form, received)
      this.decisions.set(`${user.id} ${form.id}`, { outcome: refused ?? 'queued', record })
      if (!refused) this.#queue(user, form, record, received)
    }
  }

  #queue(user: ModelUser, form: Form, cause: string, received: number): void {
    this.rows.push({
      user: user.id,
      form: form.id,
      cause,
      queuedAt: received,
      priority: form.priority,
      showFrom: received + durationMs(form.delay),
      expiresAt: form.expiresAfter === undefined ? null : received + durationMs(form.expiresAfter),
      state: 'waiting',
      offeredAt: null,
      shownAt: null,
      visitId: null,
    })
    this.told.push(`FormQueued ${user.id} ${form.id}`)
  }

  #matches(user: ModelUser, trigger: Trigger, input: TriggerInput): boolean {
    if ('visit' in trigger) return input.startsSession === true
    if ('firstSeen' in trigger) {
      return user.firstSeen !== undefined && input.received - user.firstSeen >= durationMs(trigger.firstSeen.after)
    }
    if (trigger.event !== input.slug) return false
    const isOfSession = trigger.since === 'session'
    if (isOfSession && input.source === 'admin') return false
    const session = user.session ?? Number.NaN
    const counted = user.happened
      .filter(({ slug }) => slug === trigger.event)
      .filter((event) => !isOfSession || event.session === session)
      .filter(({ at }) => !trigger.within || isWithin(at, input.at, trigger.within))
    return counted.length >= (trigger.count ?? 1)
  }

  #holds(user: ModelUser, condition: Condition, now: number): boolean {
    if ('all' in condition) return condition.all.every((child) => this.#holds(user, child, now))
    if ('any' in condition) return condition.any.some((child) => this.#holds(user, child, now))
    if ('not' in condition) return !this.#holds(user, condition.not, now)
    if ('trait' in condition) return user.plan === condition.is
    if ('segment' in condition) {
      const segment = this.project.segments.find(({ id }) => id === condition.segment)
      return segment !== undefined && this.#holds(user, segment.where, now)
    }
    if (!('event' in condition)) throw new Error('The model does not know this condition.')
    const { event, within, atLeast = 0, exactly } = condition
    const count = user.happened.filter(
      ({ slug, at }) => slug === event && (!within || isWithin(at, now, within)),
    ).length
    return exactly === undefined ? count >= atLeast : count === exactly
  }

  #refusal(user: ModelUser, form: Form, now: number): string | undefined {
    const own = this.rows.filter((row) => row.user === user.id && row.form === form.id)
    if (!isLive(form, now)) return 'not-live'
    if (form.audience && !this.#holds(user, form.audience, now)) return 'not-in-audience'
    if (bucketOf(form, user) >= form.sample * 100) return 'sampled-out'
    const { repeat } = form.frequency
    const shown = own.filter(({ state }) => state === 'delivered').map(({ shownAt }) => shownAt ?? 0)
    const times = own.filter(isOpen).length + shown.length
    if (repeat === 'once' && times >= 1) return 'repeat-exhausted'
    if (typeof repeat === 'object' && 'times' in repeat && times >= repeat.times) return 'repeat-exhausted'
    if (typeof repeat === 'object' && 'every' in repeat) {
      if (now - Math.max(Number.NEGATIVE_INFINITY, ...shown) < durationMs(repeat.every)) return 'too-soon'
    }
    if (this.#isCoolingDown(user, form, now)) return 'cooling-down'
    return own.some(isOpen) ? 'already-waiting' : undefined
  }

  #isCoolingDown(user: ModelUser, form: Form, now: number): boolean {
    if (form.cooldown.ignore || this.project.formCooldown === '0s') return false
    const shown = this.rows
      .filter((row) => row.user === user.id)
      .flatMap(({ state, shownAt, offeredAt }) =>
        state === 'delivered' ? shownAt : state === 'offered' ? offeredAt : [],
      )
    return shown.some((at) => now - (at ?? 0) < durationMs(this.project.formCooldown))
  }

  #offer(user: ModelUser, now: number): { readonly row: ModelRow | undefined; readonly moreWaiting: boolean } {
    const waiting = this.rows.flatMap((row) => {
      const form = this.#form(row.form)
      const isReady = row.user === user.id && row.state === 'waiting' && row.showFrom <= now
      return isReady && form && isLive(form, now) ? { row, form } : []
    })
    const [best] = waiting
      .filter(({ form }) => !form.audience || this.#holds(user, form.audience, now))
      .filter(({ form }) => !this.#isCoolingDown(user, form, now))
      .map(({ row }) => row)
      .toSorted((a, b) => b.priority - a.priority || a.queuedAt - b.queuedAt || a.form.localeCompare(b.form))
    if (best) {
      best.state = 'offered'
      best.offeredAt = now
    }
    return { row: best, moreWaiting: waiting.some(({ row }) => row !== best) }
  }
}

function isOpen({ state }: ModelRow): boolean {
  return state === 'waiting' || state === 'offered'
}

function isLive({ enabled, startsAt, endsAt }: Form, now: number): boolean {
  return enabled && !(startsAt && now < Date.parse(startsAt)) && !(endsAt && now >= Date.parse(endsAt))
}

/** (instant − W, instant]. */
function isWithin(at: number, instant: number, within: string): boolean {
  return at > instant - durationMs(within) && at <= instant
}

function bucketOf(form: Form, user: ModelUser): number {
  const digest = createHash('sha256').update(`${form.id}:${user.id}`).digest('hex')
  return Number.parseInt(digest.slice(0, 8), 16) % 10_000
}
