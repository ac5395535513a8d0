import type { ElementResults, ElementType, FormDaysAnswer, FormFunnel } from '@nextvisit/contracts'
import type { Step } from './draft.ts'

/** The number of offers with a value as answer to an element; '': with any. */
export interface ValueCount {
  readonly element: string
  readonly type: ElementType
  readonly value: string
  readonly count: number
}

export function funnelOf(counts: ReadonlyMap<Step, number>): FormFunnel {
  const of = (step: Step): number => counts.get(step) ?? 0
  return {
    queued: of('queued'),
    delivered: of('delivered'),
    started: of('started'),
    finished: of('finished'),
    dismissed: of('dismissed'),
    expired: of('expired'),
  }
}

/** An answer may come before its delivery, and forms delivered before the asked days are finished in them. */
export function responseRateOf({ delivered, finished }: FormFunnel): number | null {
  return delivered === 0 ? null : Math.min(1, finished / delivered)
}

/** Returns the results of each element, in the order of the given counts. */
export function elementResultsOf(counts: readonly ValueCount[]): readonly ElementResults[] {
  return byElement(counts).map(({ id, type, count, values }) => ({
    id,
    type,
    count,
    ...(isScored(type) && values.length > 0 && { average: averageOf(values) }),
    distribution: distributionOf(type, values),
    ...(type === 'nps' && values.length > 0 && npsOf(values)),
  }))
}

/** Returns the scores of each scored element, in the order of the given counts. */
export function scoresOf(counts: readonly ValueCount[]): FormDaysAnswer['days'][number]['scores'] {
  return byElement(counts).flatMap(({ id, type, count, values }) => {
    if (!isScored(type) || values.length === 0) return []
    const score = { id, type, count, average: averageOf(values) }
    return type === 'nps' ? { ...score, nps: npsOf(values).nps } : score
  })
}

interface ElementCounts {
  readonly id: string
  readonly type: ElementType
  readonly count: number
  readonly values: readonly ValueCount[]
}

/** No element id contains a slash. */
function byElement(counts: readonly ValueCount[]): readonly ElementCounts[] {
  return [...Map.groupBy(counts, ({ element, type }) => `${element}/${type}`).values()].flatMap((own) => {
    const [first] = own
    if (!first) return []
    const count = own.find(({ value }) => value === '')?.count ?? 0
    return { id: first.element, type: first.type, count, values: own.filter(({ value }) => value !== '') }
  })
}

function isScored(type: ElementType): type is 'nps' | 'rating' {
  return type === 'nps' || type === 'rating'
}

function totalOf(values: readonly ValueCount[]): number {
  return values.reduce((sum, { count }) => sum + count, 0)
}

function averageOf(values: readonly ValueCount[]): number {
  return values.reduce((sum, { value, count }) => sum + Number(value) * count, 0) / totalOf(values)
}

function npsOf(values: readonly ValueCount[]) {
  const promoters = totalOf(values.filter(({ value }) => Number(value) >= 9))
  const detractors = totalOf(values.filter(({ value }) => Number(value) <= 6))
  const all = totalOf(values)
  return { nps: ((promoters - detractors) / all) * 100, promoters, passives: all - promoters - detractors, detractors }
}

function distributionOf(type: ElementType, values: readonly ValueCount[]): ElementResults['distribution'] {
  const found = values.map(({ value, count }) => ({ value: valueOf(type, value), count }))
  return isScored(type)
    ? found.toSorted((one, other) => Number(one.value) - Number(other.value))
    : found.toSorted((one, other) => other.count - one.count)
}

function valueOf(type: ElementType, value: string): number | string | boolean {
  if (isScored(type)) return Number(value)
  return type === 'consent' ? value === 'true' : value
}
