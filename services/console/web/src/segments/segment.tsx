import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import type { SegmentAnswer } from '../../../src/api/segments.ts'
import { getFrom } from '../app/call-api.ts'
import { CursorPages } from '../parts/cursor-pages.tsx'
import { EmptyCard } from '../parts/empty-card.tsx'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Reveal } from '../parts/reveal.tsx'
import { TableCard } from '../parts/table-card.tsx'
import { Time } from '../parts/time.tsx'
import { Progress } from './progress.tsx'

const ROUTE = '/segments/$organization/$project/$segmentId'
const AGAIN_AFTER_MS = 10_000

/** One segment: its condition, how far it is computed, and who is in it since when. */
export function Segment() {
  const { organization, project, segmentId } = useParams({ from: ROUTE })
  const { after } = useSearch({ from: ROUTE })
  const path = `segments/${organization}/${project}/${segmentId}`
  const { data, error, refetch } = useQuery({
    queryKey: [path, after],
    queryFn: () => getFrom<SegmentAnswer>(after === undefined ? path : `${path}?after=${after}`),
    refetchInterval: AGAIN_AFTER_MS,
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <nav aria-label="Where you are" className="crumbs">
        <Link to="/segments" search={{ project: `${organization}/${project}` }}>
          Segments
        </Link>{' '}
        / {organization} / {project}
      </nav>
      <header className="page-head user-head">
        <div>
          <h1>{segmentId}</h1>
          {data?.name && <p className="quiet">{data.name}</p>}
        </div>
        {data?.isMasked && <Reveal path={path} />}
      </header>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data ? (
        <>
          <dl className="asked">
            <dt>Condition</dt>
            <dd>{data.where}</dd>
            <dt>Members</dt>
            <dd className="num">{data.members.toLocaleString('en')}</dd>
            <dt>Computed</dt>
            <dd>
              <Progress segment={data} />
            </dd>
          </dl>
          <Members segment={data} organization={organization} project={project} />
          <CursorPages after={after} next={data.next} />
        </>
      ) : (
        !error && <Loading what="the segment" />
      )}
    </>
  )
}

interface MembersProps {
  readonly segment: SegmentAnswer
  readonly organization: string
  readonly project: string
}

function Members({ segment: { users, members, usersComputed, usersTotal }, organization, project }: MembersProps) {
  if (users.length === 0)
    return (
      <EmptyCard title="Members">
        {members > 0
          ? 'There are no more members behind this page.'
          : usersComputed < usersTotal
            ? 'Nobody is in the segment yet: it is being computed.'
            : 'Nobody is in the segment. A user gets in with the first identify or event that makes the condition true.'}
      </EmptyCard>
    )
  return (
    <TableCard title="Members">
      <thead>
        <tr>
          <th scope="col">userName</th>
          <th scope="col">Since</th>
          <th scope="col">userId</th>
        </tr>
      </thead>
      <tbody>
        {users.map(({ userId, userName, since }) => (
          <tr key={userId}>
            <th scope="row" className="value">
              <Link to="/users/$organization/$project/$userId" params={{ organization, project, userId }}>
                {userName}
              </Link>
            </th>
            <td>
              <Time at={since} />
            </td>
            <td>
              <code>{userId}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </TableCard>
  )
}
