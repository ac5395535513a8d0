import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import { apiQuery, LONG_ANSWER_WITHIN_MS } from '../app/api.ts'
import { Sections } from '../operations/sections.tsx'
import { Mark } from '../components/mark.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { RunbookLink } from '../components/with-links.tsx'
import { Revision } from './revision.tsx'

const ROUTE = '/operations/catalog'

/** Applied revisions of the organizations, with time, author and changes. */
export function Catalog() {
  const { organization } = useSearch({ from: ROUTE })
  const query = useQuery(apiQuery('listRevisions', { organization }, LONG_ANSWER_WITHIN_MS))
  return (
    <>
      <Sections />
      <WithAnswer query={query} name="the catalog">
        {(answer) => (
          <>
            {answer.views && <Views views={answer.views} />}
            <div className="toolbar">
              <OrganizationSelect organizations={answer.organizations} chosen={organization} />
              <button type="button" onClick={() => void query.refetch()} disabled={query.isFetching}>
                {query.isFetching ? 'Refreshing …' : 'Refresh'}
              </button>
            </div>
            {answer.warnings.map((warning) => (
              <p key={warning} className="note warning">
                {warning}
              </p>
            ))}
            <Revisions answer={answer} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

/** Number of processes with the latest revisions. */
function Views({ views }: { readonly views: NonNullable<Answer<'listRevisions'>['views']> }) {
  const { current, lagging, silent, problems } = views
  const all = current.length + lagging.length + silent.length
  const isGood = lagging.length + silent.length + problems.length === 0
  return (
    <section className={`findings ${isGood ? 'good' : 'warning'}`} aria-label="Revisions in processes">
      <p>
        <Mark kind={isGood ? 'good' : 'warning'} />
        <span>
          {current.length} of {all} processes have the latest revision of every organization.
        </span>
      </p>
      {lagging.length > 0 && <p>Not up to date: {lagging.join(', ')}. Refresh in a moment.</p>}
      {silent.length > 0 && <p>Unknown, because their release does not report it: {silent.join(', ')}</p>}
      {problems.map((problem) => (
        <p key={problem}>
          {problem} Runbook: <RunbookLink name="upgrade" />
        </p>
      ))}
    </section>
  )
}

function OrganizationSelect({
  organizations,
  chosen,
}: {
  readonly organizations: Answer<'listRevisions'>['organizations']
  readonly chosen: string | undefined
}) {
  const navigate = useNavigate()
  return (
    <label>
      Organization
      <select
        value={chosen ?? ''}
        onChange={({ target }) =>
          void navigate({ to: ROUTE, search: (now) => ({ ...now, organization: target.value || undefined }) })
        }
      >
        <option value="">all</option>
        {organizations.map(({ organization, revision, isRemoved }) => (
          <option key={organization} value={organization}>
            {organization}, {isRemoved ? 'removed' : `revision ${revision}`}
          </option>
        ))}
      </select>
    </label>
  )
}

function Revisions({ answer: { revisions, isCut } }: { readonly answer: Answer<'listRevisions'> }) {
  if (revisions.length === 0)
    return (
      <EmptyNote>
        The log has no revision. Apply a workspace file to create one: <code>nextvisit apply FILE</code>.
      </EmptyNote>
    )
  return (
    <>
      <ol className="revisions">
        {revisions.map((line, index) => (
          <Revision key={`${line.organization}/${line.revision}/${line.appliedAt}/${index}`} line={line} />
        ))}
      </ol>
      <p className="quiet hint">
        {isCut && 'Older revisions are not shown. '}A replaced revision stays in the log for at least 30 days.
      </p>
    </>
  )
}
