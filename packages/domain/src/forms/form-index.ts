import { durationMs, type Form, type ProjectConfig } from '@nextvisit/contracts'
import { compileGates, type FormGates } from './gates/gates.ts'
import { countKeyOf } from '../counts/count-key.ts'
import { compileSegments, type SegmentIndex } from '../segments/segments.ts'
import { type CompiledTrigger, compileTrigger } from './triggers.ts'

/** A form compiled for evaluation, once per catalog revision. */
export interface CompiledForm {
  readonly id: string
  readonly isEnabled: boolean
  readonly triggers: readonly CompiledTrigger[]
  readonly gates: FormGates
  readonly priority: number
  readonly delayMs: number
  readonly expiresAfterMs?: number | undefined
}

/** A project's forms by the records that set them off. Disabled forms are included: a decision on them is recorded, too. */
export interface FormIndex {
  readonly byId: ReadonlyMap<string, CompiledForm>
  /** The segments that audiences name. */
  readonly segments: SegmentIndex
  /** Keys of the counts that gates read, directly or through segments (`countKeyOf`). */
  readonly gateCounts: ReadonlySet<string>
  /** Returns the keys of the counts that triggers on this slug read. */
  readonly triggerCounts: (slug: string) => readonly string[]
  /** Returns whether a trigger compares the properties of events of this slug. */
  readonly readsProperties: (slug: string) => boolean
  /** Returns the forms that a tracked event of this slug may set off. */
  readonly onEvent: (slug: string) => readonly CompiledForm[]
  /** Returns the forms that the answers to a form may set off. */
  readonly onAnswersTo: (formId: string) => readonly CompiledForm[]
  /** The forms whose answers gates read, directly or through segments. */
  readonly answeredForms: ReadonlySet<string>
  /** Forms that a visit may set off. */
  readonly onVisit: readonly CompiledForm[]
  /** Returns whether an event of this slug could queue a form. Only then does the gateway wait for a reply. */
  readonly reactsTo: (slug: string) => boolean
  /** Returns whether a visit could show a form: any enabled form may wait in a queue. */
  readonly reactsToVisits: () => boolean
}

const compiled = new WeakMap<ProjectConfig, FormIndex>()

/** Returns a project's forms, compiled once per configuration object. */
export function compileForms(project: ProjectConfig): FormIndex {
  const known = compiled.get(project)
  if (known) return known
  const index = buildIndex(project)
  compiled.set(project, index)
  return index
}

function buildIndex(project: ProjectConfig): FormIndex {
  const forms = project.forms.map((form) => compileForm(form, project))
  const onAnySlug = forms.filter((form) => form.triggers.some(({ events }) => events === 'every'))
  const isAnyEnabled = onAnySlug.some(({ isEnabled }) => isEnabled)
  const bySlug = indexBySlug(forms)
  const byAnswers = indexByAnswers(forms)
  const positions = new Map(forms.map((form, position) => [form, position]))
  const positionOf = (form: CompiledForm) => positions.get(form) ?? 0
  return {
    byId: new Map(forms.map((form) => [form.id, form])),
    segments: compileSegments(project),
    gateCounts: new Set(forms.flatMap(({ gates }) => countsOfGates(gates, project))),
    triggerCounts: (slug) => bySlug.get(slug)?.counts ?? [],
    readsProperties: (slug) => bySlug.get(slug)?.readsProperties ?? false,
    onEvent: (slug) => {
      const own = bySlug.get(slug)?.forms ?? []
      if (own.length === 0) return onAnySlug
      if (onAnySlug.length === 0) return own
      // Not stored: each slug would store all forms on any slug.
      return [...new Set([...own, ...onAnySlug])].toSorted((one, other) => positionOf(one) - positionOf(other))
    },
    onAnswersTo: (formId) => byAnswers.get(formId) ?? [],
    answeredForms: new Set(forms.flatMap(({ gates }) => answersOfGates(gates, project))),
    onVisit: forms.filter((form) => form.triggers.some(({ onVisits }) => onVisits)),
    reactsTo: (slug) => isAnyEnabled || (bySlug.get(slug)?.forms.some(({ isEnabled }) => isEnabled) ?? false),
    reactsToVisits: () => forms.some(({ isEnabled }) => isEnabled),
  }
}

/** Forms with a trigger of one slug, and the keys of the counts that these triggers read. */
interface OnSlug {
  readonly forms: readonly CompiledForm[]
  readonly counts: readonly string[]
  readonly readsProperties: boolean
}

/** Reads each trigger once: a form may name thousands of slugs. */
function indexBySlug(forms: readonly CompiledForm[]): ReadonlyMap<string, OnSlug> {
  const triggers = forms.flatMap((form) =>
    form.triggers.flatMap(({ events, countKey, checkWhere }) =>
      typeof events === 'object' ? [{ slug: events.slug, form, countKey, hasWhere: checkWhere !== undefined }] : [],
    ),
  )
  const indexed = Array.from(
    Map.groupBy(triggers, ({ slug }) => slug),
    ([slug, onSlug]): [string, OnSlug] => [
      slug,
      {
        forms: [...new Set(onSlug.map(({ form }) => form))],
        counts: [...new Set(onSlug.flatMap(({ countKey }) => countKey ?? []))],
        readsProperties: onSlug.some(({ hasWhere }) => hasWhere),
      },
    ],
  )
  return new Map(indexed)
}

function indexByAnswers(forms: readonly CompiledForm[]): ReadonlyMap<string, readonly CompiledForm[]> {
  const pairs = forms.flatMap((form) => {
    const answered = new Set(form.triggers.flatMap(({ onAnswersTo }) => onAnswersTo ?? []))
    return Array.from(answered, (formId) => ({ formId, form }))
  })
  const grouped = Map.groupBy(pairs, ({ formId }) => formId)
  return new Map(Array.from(grouped, ([formId, found]) => [formId, found.map(({ form }) => form)]))
}

function answersOfGates({ toQueue }: FormGates, project: ProjectConfig): readonly string[] {
  const own = toQueue.flatMap(({ needsAnswersTo }) => needsAnswersTo ?? [])
  const leaves = toQueue.flatMap(({ needs = [] }) => needs)
  const named = leaves.flatMap((leaf) => {
    if ('answer' in leaf) return leaf.answer.form
    return 'segment' in leaf ? [...compileSegments(project).answeredFormsOf(leaf.segment)] : []
  })
  return [...own, ...named]
}

function countsOfGates({ toQueue }: FormGates, project: ProjectConfig): readonly string[] {
  const leaves = toQueue.flatMap(({ needs = [] }) => needs)
  return leaves.flatMap((leaf) => {
    if ('event' in leaf) return countKeyOf(leaf)
    return 'segment' in leaf ? [...compileSegments(project).countKeysOf(leaf.segment)] : []
  })
}

function compileForm(form: Form, project: ProjectConfig): CompiledForm {
  return {
    id: form.id,
    isEnabled: form.enabled,
    triggers: form.triggers.map((trigger) => compileTrigger(trigger)),
    gates: compileGates(form, project),
    priority: form.priority,
    delayMs: durationMs(form.delay),
    expiresAfterMs: form.expiresAfter === undefined ? undefined : durationMs(form.expiresAfter),
  }
}
