import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { CatalogAnswer } from '../../../src/catalog/api.ts'
import { LONG_ANSWER_WITHIN_MS } from '../app/call-api.ts'
import { apiQuery } from '../app/use-api.ts'
import { Sections } from '../operations/sections.tsx'
import { EmptyNote } from '../parts/notes.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { Revision } from './revision.tsx'
import { Views } from './views.tsx'

const ROUTE = '/operations/catalog'

/** Applied revisions of the organizations, with time, author and changes. */
export function Catalog() {
  const { organization } = useSearch({ from: ROUTE })
  const query = useQuery(apiQuery('listRevisions', { organization }, LONG_ANSWER_WITHIN_MS))
  return (
    <>
      <Sections />
      <WithAnswer query={query} what="the catalog">
        {(answer) => (
          <>
            {answer.views && <Views views={answer.views} />}
            <div className="toolbar">
              <OrganizationSelect organizations={answer.organizations} chosen={organization} />
              <button type="button" onClick={() => void query.refetch()} disabled={query.isFetching}>
                {query.isFetching ? 'Refreshing …' : 'Refresh'}
              </button>
            </div>
            <Revisions answer={answer} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

interface OrganizationSelectProps {
  readonly organizations: CatalogAnswer['organizations']
  readonly chosen: string | undefined
}

function OrganizationSelect({ organizations, chosen }: OrganizationSelectProps) {
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

function Revisions({ answer: { revisions, isCut } }: { readonly answer: CatalogAnswer }) {
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
