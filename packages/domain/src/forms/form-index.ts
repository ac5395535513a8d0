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
  /** Returns the forms that a tracked event of this slug may set off. */
  readonly onEvent: (slug: string) => readonly CompiledForm[]
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
  const slugs = forms.flatMap((form) =>
    form.triggers.flatMap(({ events }) => (typeof events === 'object' ? events.slug : [])),
  )
  const onAnySlug = forms.filter((form) => form.triggers.some(({ events }) => events === 'every'))
  const bySlug = new Map([...new Set(slugs)].map((slug) => [slug, forms.filter((form) => isSetOffBy(form, slug))]))
  const countsBySlug = new Map(Array.from(bySlug.keys(), (slug) => [slug, countsOfTriggers(forms, slug)]))
  const onEvent = (slug: string) => bySlug.get(slug) ?? onAnySlug
  return {
    byId: new Map(forms.map((form) => [form.id, form])),
    segments: compileSegments(project),
    gateCounts: new Set(forms.flatMap(({ gates }) => countsOfGates(gates, project))),
    triggerCounts: (slug) => countsBySlug.get(slug) ?? [],
    onEvent,
    onVisit: forms.filter((form) => form.triggers.some(({ onVisits }) => onVisits)),
    reactsTo: (slug) => onEvent(slug).some(({ isEnabled }) => isEnabled),
    reactsToVisits: () => forms.some(({ isEnabled }) => isEnabled),
  }
}

function countsOfGates({ toQueue }: FormGates, project: ProjectConfig): readonly string[] {
  const leaves = toQueue.flatMap(({ needs = [] }) => needs)
  return leaves.flatMap((leaf) => {
    if ('event' in leaf) return countKeyOf(leaf)
    return 'segment' in leaf ? [...compileSegments(project).countKeysOf(leaf.segment)] : []
  })
}

function countsOfTriggers(forms: readonly CompiledForm[], slug: string): readonly string[] {
  const triggers = forms.flatMap((form) => form.triggers.filter(({ events }) => isOfSlug(events, slug)))
  return [...new Set(triggers.flatMap(({ countKey }) => countKey ?? []))]
}

function isOfSlug(events: CompiledTrigger['events'], slug: string): boolean {
  return typeof events === 'object' && events.slug === slug
}

function isSetOffBy(form: CompiledForm, slug: string): boolean {
  return form.triggers.some(({ events }) => events === 'every' || isOfSlug(events, slug))
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
