import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import { pageQuery } from '../app/api.ts'
import { figure } from '../components/figures.ts'
import { EmptyList } from '../components/notes.tsx'
import { Pages } from '../components/pages.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { type ChosenProject, ProjectSelect, WithProject } from '../components/with-project.tsx'
import { Progress } from './segment.tsx'

/** The segments of a project: their members, and the progress of their computation. */
export function Segments() {
  const { project: chosen } = useSearch({ from: '/segments' })
  return (
    <>
      <header className="page-head">
        <h1>Segments</h1>
        <p className="quiet">
          Named conditions on users. Membership is updated with every identify and event, and over time.
        </p>
      </header>
      <WithProject chosen={chosen}>{(project) => <ProjectSegments key={project.name} project={project} />}</WithProject>
    </>
  )
}

function ProjectSegments({ project }: { readonly project: ChosenProject }) {
  const navigate = useNavigate()
  const { page = 1 } = useSearch({ from: '/segments' })
  const query = useQuery(pageQuery('listSegments', { ...project.path, page }))
  return (
    <>
      <search className="card filters">
        <ProjectSelect
          {...project}
          onChoose={(name) => void navigate({ to: '/segments', search: { project: name } })}
        />
      </search>
      <WithAnswer query={query} name="the segments">
        {(answer) => <List answer={answer} project={project} page={page} />}
      </WithAnswer>
    </>
  )
}

interface ListProps {
  readonly answer: Answer<'listSegments'>
  readonly project: ChosenProject
  readonly page: number
}

function List({ answer: { segments, total, pageSize }, project, page }: ListProps) {
  if (segments.length === 0) return <EmptyList title="Segments" things="segments" total={total} />
  return (
    <>
      <TableCard title={`Segments of ${project.name}`} columns={['Segment', right('Members'), 'Computed']}>
        {segments.map((segment) => (
          <tr key={segment.id}>
            <th scope="row">
              <Link
                to="/segments/$organization/$project/$segmentId"
                params={{ ...project.path, segmentId: segment.id }}
              >
                {segment.id}
              </Link>
              {segment.name && <p className="quiet">{segment.name}</p>}
            </th>
            <td className="right num">{figure(segment.members)}</td>
            <td>
              <Progress segment={segment} />
            </td>
          </tr>
        ))}
      </TableCard>
      <Pages page={page} hasNext={page * pageSize < total} total={`${total} segments`} />
      <p className="quiet hint">
        Current members, from the user projector. After a change of a condition every user is recomputed. Until then a
        segment also contains members by its old condition.
      </p>
    </>
  )
}
