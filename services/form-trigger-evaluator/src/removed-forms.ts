import type { CatalogView, ReviewScope } from '@nextvisit/catalog'
import type { Compared } from '@nextvisit/consumer'
import type { ProjectRef } from '@nextvisit/contracts'
import { type Db, sql } from '@nextvisit/database'
import { compileForms } from '@nextvisit/domain'

/** Number of forms that one query compares with the catalog. */
const FORMS_A_PAGE = 1_000
/** Maximum pages when all organizations of a partition are compared. The next tick continues behind them. */
const PAGES_A_TICK = 10

/** A form that has open rows in a partition. */
interface FormOfPartition extends ProjectRef {
  readonly partition: number
  readonly formId: string
}

/** A form that was disabled or removed in the workspace, alone or with its project or organization. */
export interface RemovedForm extends FormOfPartition {
  /** The revision of the catalog without the form. Rows of a later one are left to an evaluator that has that catalog. */
  readonly catalogRevision: number
}

/** Sorts after every id of an organization in any collation of the database. */
const LAST_ORGANIZATION = 'z'.repeat(64)

/**
 * Finds disabled or removed forms with open rows. Compares all forms of an organization that has changed. At the first look
 * at a partition it compares as many forms as a tick may, and returns the places to continue from.
 */
export async function findRemovedForms(
  db: Db,
  scopes: readonly ReviewScope[],
  catalog: CatalogView,
): Promise<Compared<RemovedForm>> {
  const removed: RemovedForm[] = []
  const see = (forms: readonly FormOfPartition[]): void => {
    for (const form of forms) if (!isEnabled(catalog, form)) removed.push(removedForm(catalog, form))
  }
  const whole = scopes.filter(({ organization }) => organization === undefined)
  const changed = scopes.filter(({ organization }) => organization !== undefined)
  await readPages(db, changed, Infinity, see)
  const unfinished = await readPages(db, whole, PAGES_A_TICK, see)
  return { unsettled: removed, unfinished }
}

function isEnabled(catalog: CatalogView, { organization, project, formId }: FormOfPartition): boolean {
  const found = catalog.project(organization, project)
  return (found && compileForms(found.config).byId.get(formId)?.isEnabled) ?? false
}

function removedForm(catalog: CatalogView, form: FormOfPartition): RemovedForm {
  // For an organization that the catalog does not hold, this is 0: no row was queued under it.
  return { ...form, catalogRevision: catalog.revision(form.organization) }
}

/** Reads at most `maxPages`. Returns the scopes that have more. */
async function readPages(
  db: Db,
  scopes: readonly ReviewScope[],
  maxPages: number,
  see: (forms: readonly FormOfPartition[]) => void,
): Promise<readonly ReviewScope[]> {
  let rest = scopes
  for (let page = 0; page < maxPages && rest.length > 0; page += 1) {
    const asked = rest.slice(0, FORMS_A_PAGE)
    const formsEach = Math.floor(FORMS_A_PAGE / asked.length)
    const forms = await readOpenForms(db, asked, formsEach)
    see(forms)
    const lastOnes = new Map(forms.flatMap(({ scope, step, ...form }) => (step === formsEach ? [[scope, form]] : [])))
    const more = asked.flatMap((scope, nth) => {
      const last = lastOnes.get(nth)
      return last ? { ...scope, after: [last.organization, last.project, last.formId] } : []
    })
    rest = [...more, ...rest.slice(FORMS_A_PAGE)]
  }
  return rest
}

interface OpenForm extends FormOfPartition {
  /** The index of its scope in the question. */
  readonly scope: number
  /** Position in the order of the index, from 1. */
  readonly step: number
}

/**
 * Reads the next forms with open rows of each scope, at most `formsEach`. Skips from form to form in the index: ten waiting
 * rows cost as much as a million.
 */
async function readOpenForms(db: Db, scopes: readonly ReviewScope[], formsEach: number): Promise<readonly OpenForm[]> {
  const partitions = scopes.map(({ partition }) => partition)
  const lasts = scopes.map(({ organization }) => organization ?? LAST_ORGANIZATION)
  const afters = scopes.map(({ organization = '', after = [organization, '', ''] }) => after)
  return db.$queryRaw<OpenForm[]>(sql`
    WITH RECURSIVE open AS (
      SELECT first.*, scope.last, scope.nth, 1 AS step FROM
      unnest(
        ${partitions}::int[], ${lasts}::text[], ${afters.map(([organization]) => organization)}::text[],
        ${afters.map(([, project]) => project)}::text[], ${afters.map(([, , form]) => form)}::text[]
      ) WITH ORDINALITY AS scope (partition, last, organization, project, form_id, nth), LATERAL (
        SELECT partition, organization, project, form_id FROM queue
        WHERE queue.partition = scope.partition AND state IN ('waiting', 'offered') AND queue.organization <= scope.last
          AND (queue.organization, queue.project, queue.form_id) > (scope.organization, scope.project, scope.form_id)
        ORDER BY organization, project, form_id LIMIT 1) AS first
      UNION ALL
      SELECT next.*, open.last, open.nth, open.step + 1 FROM open, LATERAL (
        SELECT partition, organization, project, form_id FROM queue
        WHERE queue.partition = open.partition AND state IN ('waiting', 'offered') AND queue.organization <= open.last
          AND (queue.organization, queue.project, queue.form_id) > (open.organization, open.project, open.form_id)
        ORDER BY organization, project, form_id LIMIT 1) AS next
      WHERE open.step < ${formsEach}::int
    )
    SELECT partition, organization, project, form_id AS "formId", nth::int - 1 AS scope, step FROM open`)
}
