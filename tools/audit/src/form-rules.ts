import { msOf } from './condition.ts'
import { countName, countOfTrigger, slugOf } from './count-names.ts'
import type { Condition, FormInFile, Repeat, TriggerInFile } from './workspace-file.ts'

/** A form with defaults: durations and instants in ms, events by slug. */
export interface FormRule {
  readonly id: string
  readonly isEnabled: boolean
  readonly startsAt: number
  readonly endsAt: number
  readonly triggers: readonly TriggerRule[]
  readonly audience: Condition
  /** Sample in percent. */
  readonly sample: number
  /** Maximum number of times that it may be queued. */
  readonly times: number
  /** Minimum time in ms since it was last shown. */
  readonly everyMs?: number
  /** Value in the workspace file. */
  readonly repeat: Repeat
  /** True if it is asked until the user has finished it, in place of `repeat`. */
  readonly isUntilAnswered: boolean
  readonly ignoresCooldown: boolean
  readonly priority: number
  /** Minimum time in ms from queued to shown. */
  readonly delayMs: number
  /** Time in ms from queued to expired. Infinity: never. */
  readonly expiresAfterMs: number
}

export type TriggerRule = { readonly inFile: TriggerInFile } & (
  | { readonly on: 'visit' }
  | { readonly on: 'answers'; readonly formId: string }
  | { readonly on: 'first seen'; readonly afterMs: number }
  | {
      readonly on: 'event'
      readonly slug: string
      /** Name of its count. */
      readonly counted: string
      readonly count: number
      readonly withinMs?: number
      readonly inSession: boolean
    }
)

export function formRuleOf(form: FormInFile): FormRule {
  const repeat = form.frequency?.repeat ?? 'once'
  const isUntilAnswered = form.frequency?.until === 'answered'
  return {
    id: form.id,
    isEnabled: form.enabled ?? true,
    startsAt: form.startsAt === undefined ? -Infinity : Date.parse(form.startsAt),
    endsAt: form.endsAt === undefined ? Infinity : Date.parse(form.endsAt),
    triggers: (form.triggers ?? []).map(triggerRuleOf),
    audience: form.audience ?? { all: [] },
    sample: form.sample ?? 100,
    times: isUntilAnswered ? Infinity : timesOf(repeat),
    ...(typeof repeat === 'object' && 'every' in repeat && { everyMs: msOf(repeat.every) }),
    repeat,
    isUntilAnswered,
    ignoresCooldown: form.cooldown?.ignore ?? false,
    priority: form.priority ?? 0,
    delayMs: msOf(form.delay ?? '0s'),
    expiresAfterMs: form.expiresAfter === undefined ? Infinity : msOf(form.expiresAfter),
  }
}

function timesOf(repeat: Repeat): number {
  if (repeat === 'once') return 1
  return typeof repeat === 'object' && 'times' in repeat ? repeat.times : Infinity
}

function triggerRuleOf(inFile: TriggerInFile): TriggerRule {
  const { event, count = 1, within, since, firstSeen, answered } = inFile
  if (answered) return { inFile, on: 'answers', formId: answered.form }
  if (firstSeen) return { inFile, on: 'first seen', afterMs: msOf(firstSeen.after) }
  if (event === undefined) return { inFile, on: 'visit' }
  const slug = slugOf(event)
  const counted = countName(countOfTrigger(inFile))
  const inSession = since === 'session'
  return {
    inFile,
    on: 'event',
    slug,
    counted,
    count,
    inSession,
    ...(within !== undefined && { withinMs: msOf(within) }),
  }
}
