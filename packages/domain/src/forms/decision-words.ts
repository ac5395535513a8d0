import {
  type Condition,
  type ConditionLeaf,
  GATE_NAMES,
  type GateName,
  type GateOutcome,
  type PropertyCondition,
  type PropertyLeaf,
  type TraitValue,
  type Trigger,
} from '@nextvisit/contracts'

type AnyLeaf = ConditionLeaf | PropertyLeaf
type Compared<Gate extends GateName> = Extract<GateOutcome, { gate: Gate }>['compared']

/** What a gate compared, in words. A gate that only a newer evaluator knows shows its members as they are. */
const SENTENCES: { readonly [Gate in GateName]: (compared: Compared<Gate>) => string } = {
  where: ({ leaf, negated, actual }) => conditionInWords(leaf, negated, `the event has ${valueInWords(actual)}`),
  live: ({ enabled, startsAt, endsAt, now }) =>
    inOrder(
      [enabled ? 'enabled' : 'disabled', startsAt && `from ${startsAt}`, endsAt && `until ${endsAt}`, `at ${now}`],
      ', ',
    ),
  audience: ({ leaf, negated, actual }) => conditionInWords(leaf, negated, `the user has ${valueInWords(actual)}`),
  sample: ({ bucket, threshold }) =>
    bucket === null ? 'everybody' : `drew ${bucket} of 10000; in below ${threshold} (${threshold / 100} %)`,
  repeat: ({ rule, timesQueued, lastShownAt }) =>
    `${frequencyInWords(rule)}; ${timesQueued === 0 ? 'not queued' : `queued ${times(timesQueued)}`} before, ${lastShownAt === null ? 'never shown yet' : `last shown ${lastShownAt}`}`,
  cooldown: ({ cooldownSeconds, lastShown }) => {
    if (cooldownSeconds === 0) return 'none'
    if (!lastShown) return `${cooldownSeconds} s since any form; none was shown before`
    const how = lastShown.openOffer ? 'offered' : 'shown'
    return `${cooldownSeconds} s since any form; ${lastShown.formId} was ${how} ${lastShown.at}`
  },
  slot: ({ waiting }) => (waiting ? `${waiting.state} since ${waiting.queuedAt}` : 'free'),
}

/** What a gate compared, such as `trait plan is "pro"; the user has "free"`. */
export function comparedInWords({ gate, compared }: GateOutcome): string {
  const sentence = SENTENCES[gate] as ((compared: GateOutcome['compared']) => string) | undefined
  return (
    sentence?.(compared) ??
    Object.entries(compared)
      .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
      .join(', ')
  )
}

function conditionInWords(leaf: AnyLeaf | null, negated: boolean, had: string): string {
  return leaf ? `${negated ? 'not: ' : ''}${leafInWords(leaf)}; ${had}` : 'no condition decides'
}

function valueInWords(value: TraitValue | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}

const SUBJECTS = new Set(['trait', 'event', 'property', 'device', 'country', 'segment'])

/** What it is about comes first, and what the events must have last. */
function rankOf(member: string): number {
  return SUBJECTS.has(member) ? 0 : member === 'where' ? 2 : 1
}

/** `{ trait: plan, is: pro }` → `trait plan is "pro"`, in whatever order Postgres keeps the members. */
function leafInWords(leaf: AnyLeaf): string {
  return Object.entries(leaf)
    .toSorted(([one], [other]) => rankOf(one) - rankOf(other))
    .map(([key, value]) => {
      if (SUBJECTS.has(key) && typeof value === 'string') return `${key} ${value}`
      if (key === 'where') return `where ${treeInWords(value as PropertyCondition)}`
      return `${key} ${isOperators(value) ? leafInWords(value) : JSON.stringify(value)}`
    })
    .join(' ')
}

/** Only `{ country: { in: [DE, AT] } }` has its operator one level further down. */
function isOperators(value: unknown): value is ConditionLeaf {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The gates behind the one that failed, which decided nothing. A decision may be older than the newest gate: that one is
 * not a gate that was skipped.
 */
export function gatesNotLookedAt(gates: readonly GateOutcome[]): readonly GateName[] {
  const last = gates.at(-1)
  return last && !last.passed ? GATE_NAMES.slice(GATE_NAMES.indexOf(last.gate) + 1) : []
}

/** Such as `event checkout_completed 3 times within 7d`. */
export function triggerInWords(trigger: Trigger): string {
  if ('visit' in trigger) return 'visit'
  if ('firstSeen' in trigger) return `first seen ${trigger.firstSeen.after} before, or more`
  const { event, count, within, since, where } = trigger
  return inOrder(
    [
      `event ${event}`,
      count && times(count),
      within && `within ${within}`,
      since && `in one ${since}`,
      where && `where ${treeInWords(where)}`,
    ],
    ' ',
  )
}

/** `{ all: [{ property: total, atLeast: 100 }, …] }` → `all (property total atLeast 100, …)`. */
export function treeInWords(tree: Condition | PropertyCondition): string {
  if ('all' in tree) return `all (${tree.all.map(treeInWords).join(', ')})`
  if ('any' in tree) return `any (${tree.any.map(treeInWords).join(', ')})`
  return 'not' in tree ? `not (${treeInWords(tree.not)})` : leafInWords(tree)
}

/** `{ every: 30d }` → `every 30d`. */
export function frequencyInWords(rule: Compared<'repeat'>['rule']): string {
  if (typeof rule === 'string') return rule
  return 'every' in rule ? `every ${rule.every}` : `at most ${times(rule.times)}`
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

/** Joins the parts that are there. */
function inOrder(parts: readonly unknown[], separator: string): string {
  return parts.filter(Boolean).join(separator)
}
