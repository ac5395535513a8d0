import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import type { SegmentAnswer } from '../../../src/segments/api.ts'
import { apiQuery } from '../app/use-api.ts'
import { figure } from '../parts/figures.ts'
import { EmptyCard } from '../parts/notes.tsx'
import { CursorPages } from '../parts/pages.tsx'
import { Reveal } from '../parts/reveal.tsx'
import { TableCard } from '../parts/table-card.tsx'
import { Time } from '../parts/time.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { Progress } from './progress.tsx'

const ROUTE = '/segments/$organization/$project/$segmentId'
const RELOAD_AFTER_MS = 10_000

/** One segment: its condition, the progress of its computation, and its members. */
export function Segment() {
  const path = useParams({ from: ROUTE })
  const { organization, project, segmentId } = path
  const { after } = useSearch({ from: ROUTE })
  const query = useQuery({
    ...apiQuery('readSegment', { ...path, after }),
    refetchInterval: RELOAD_AFTER_MS,
    placeholderData: keepPreviousData,
  })
  const { data } = query
  return (
    <>
      <nav aria-label="Breadcrumbs" className="crumbs">
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
        {data?.isMasked && <Reveal name="revealSegment" input={path} />}
      </header>
      <WithAnswer query={query} what="the segment">
        {(segment) => (
          <>
            <dl className="asked">
              <dt>Condition</dt>
              <dd>{segment.where}</dd>
              <dt>Members</dt>
              <dd className="num">{figure(segment.members)}</dd>
              <dt>Computed</dt>
              <dd>
                <Progress segment={segment} />
              </dd>
            </dl>
            <Members segment={segment} organization={organization} project={project} />
            <CursorPages after={after} next={segment.next} />
          </>
        )}
      </WithAnswer>
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
          ? 'There are no more members after this page.'
          : usersComputed < usersTotal
            ? 'The segment has no members yet. It is being computed.'
            : 'The segment has no members. A user enters with the first identify or event that makes the condition true.'}
      </EmptyCard>
    )
  return (
    <TableCard title="Members" columns={['userName', 'Since', 'userId']}>
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
    </TableCard>
  )
}
