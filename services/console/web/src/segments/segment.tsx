import type { ProjectRef } from '@nextvisit/contracts'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import type { SegmentLine } from '../../../src/segments/api.ts'
import { pageQuery } from '../app/api.ts'
import { figure } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { CursorPages } from '../components/pages.tsx'
import { Reveal } from '../components/reveal.tsx'
import { TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { ProjectCrumbs } from '../components/with-project.tsx'

const ROUTE = '/segments/$organization/$project/$segmentId'

/** One segment: its condition, the progress of its computation, and its members. */
export function Segment() {
  const path = useParams({ from: ROUTE })
  const { organization, project, segmentId } = path
  const { after } = useSearch({ from: ROUTE })
  const query = useQuery(pageQuery('readSegment', { ...path, after }))
  const { data } = query
  return (
    <>
      <ProjectCrumbs path={path}>
        <Link to="/segments" search={{ project: `${organization}/${project}` }}>
          Segments
        </Link>
      </ProjectCrumbs>
      <header className="page-head user-head">
        <div>
          <h1>{segmentId}</h1>
          {data?.name && <p className="quiet">{data.name}</p>}
        </div>
        {data?.isMasked && <Reveal name="revealSegment" input={path} />}
      </header>
      <WithAnswer query={query} name="the segment">
        {(segment) => (
          <>
            <dl className="settings">
              <dt>Condition</dt>
              <dd>{segment.where}</dd>
              <dt>Members</dt>
              <dd className="num">{figure(segment.members)}</dd>
              <dt>Computed</dt>
              <dd>
                <Progress segment={segment} />
              </dd>
            </dl>
            <Members segment={segment} path={path} />
            <CursorPages after={after} next={segment.next} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

function Members({
  segment: { users, members, usersComputed, usersTotal },
  path,
}: {
  readonly segment: Answer<'readSegment'>
  readonly path: ProjectRef
}) {
  const { organization, project } = path
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

/** Number of users computed with the current condition of a segment. */
export function Progress({ segment: { id, usersComputed, usersTotal } }: { readonly segment: SegmentLine }) {
  const words = `${figure(usersComputed)} of ${figure(usersTotal)} users`
  if (usersComputed >= usersTotal) return <>{usersTotal === 0 ? 'no users yet' : 'all users'}</>
  return (
    <>
      <progress max={usersTotal} value={usersComputed} aria-label={`Computed of ${id}`} /> {words}
    </>
  )
}
