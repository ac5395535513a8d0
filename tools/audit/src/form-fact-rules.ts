import type { Catalog } from './catalog.ts'
import type { FormAnswered, FormFact, ProjectRef, FormQueued } from './facts.ts'
import type { FormRule } from './form-rules.ts'
import { NEAR_MS } from './model.ts'

/** The row that a fact of `form-events` changes and must match. */
interface RowBefore {
  readonly formId: string
  readonly state: 'waiting' | 'answered' | 'delivered' | 'expired' | 'cancelled'
  readonly expiresAt: string | null
  readonly catalogRevision: number
}

/** Compares a queued form with the revision of the catalog that the fact names (forms.md, A form). */
export function misconfigured(
  { at, priority, showFrom, expiresAt = 'never' }: FormQueued,
  form: FormRule,
): readonly string[] {
  const expected = {
    priority: form.priority,
    showFrom: instantAfter(at, form.delayMs),
    expiresAt: instantAfter(at, form.expiresAfterMs),
  }
  return Object.entries({ priority, showFrom, expiresAt }).flatMap(([member, found]) => {
    const wanted = expected[member as keyof typeof expected]
    return found === wanted ? [] : `${member} is ${found} instead of ${wanted}`
  })
}

function instantAfter(at: string, ms: number): string {
  return ms === Infinity ? 'never' : new Date(Date.parse(at) + ms).toISOString()
}

/**
 * Returns why a row must not end by this fact; undefined: it may. Both instants of an expiry are in the log, and a tick's
 * instant is never before the expiry, so no tolerance is necessary. A confirmed row is delivered from any state.
 */
export function wrongEnd(
  fact: Exclude<FormFact, FormQueued | FormAnswered>,
  row: RowBefore,
  catalog: Catalog,
): string | undefined {
  if (fact.formId !== row.formId) return `is of ${fact.formId}, but ${row.formId} was queued`
  if (fact.type === 'FormDelivered') return undefined
  if (row.state !== 'waiting') return `was ${row.state} before`
  if (fact.type === 'FormCancelled') {
    return wasRemoved(fact, row.catalogRevision, catalog) ? undefined : 'was neither removed nor disabled'
  }
  if (row.expiresAt === null) return 'never expires'
  return fact.at < row.expiresAt ? `is at ${fact.at}, but the row expires at ${row.expiresAt}` : undefined
}

/** Returns whether any revision since the row was queued, and read by the evaluator by then, may lack the form. */
function wasRemoved(fact: FormFact, since: number, catalog: Catalog): boolean {
  const until = catalog.lastRevisionAt(fact.organization, Date.parse(fact.at) + NEAR_MS)
  return revisions(since, until).some((revision) => isEnabled(fact, revision, catalog) !== true)
}

type FormRef = ProjectRef & { readonly formId: string }

/** Returns whether the form is, or may be, enabled in any revision from this one on. */
export function isEnabledSince(form: FormRef, since: number, catalog: Catalog): boolean {
  return revisions(since, catalog.latest(form.organization)).some(
    (revision) => isEnabled(form, revision, catalog) !== false,
  )
}

/** Returns whether a revision has the form enabled; undefined: the revision is unknown. */
function isEnabled(
  { organization, project, formId }: FormRef,
  revision: number,
  catalog: Catalog,
): boolean | undefined {
  if (!catalog.isKnown(organization, revision)) return undefined
  return catalog.project(organization, project, revision)?.forms.get(formId)?.isEnabled ?? false
}

function revisions(first: number, last: number): readonly number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index)
}
