import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import { pageQuery } from '../app/api.ts'
import { useIsOperator } from '../app/session.ts'
import { figure } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { CursorPages } from '../components/pages.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { type ChosenProject, ProjectSelect, WithProject } from '../components/with-project.tsx'
import { ErasureStatus } from './erasure.tsx'
import { Suppressions } from './suppressions.tsx'

/** The erasures of a project, and its suppressed users. */
export function Erasures() {
  const { project: chosen } = useSearch({ from: '/erasures' })
  return (
    <>
      <header className="page-head">
        <h1>Erasures</h1>
        <p className="quiet">
          Erased people, by number and time. To erase one, find the person in <Link to="/users">Users</Link>.
        </p>
      </header>
      <WithProject chosen={chosen}>{(project) => <OfProject key={project.name} project={project} />}</WithProject>
    </>
  )
}

function OfProject({ project }: { readonly project: ChosenProject }) {
  const navigate = useNavigate()
  const { after } = useSearch({ from: '/erasures' })
  const isOperator = useIsOperator()
  const query = useQuery(pageQuery('listErasures', { ...project.path, after }))
  return (
    <>
      <search className="card filters">
        <ProjectSelect
          {...project}
          onChoose={(name) => void navigate({ to: '/erasures', search: { project: name } })}
        />
      </search>
      <WithAnswer query={query} name="the erasures">
        {(answer) => (
          <>
            <List answer={answer} project={project} />
            <CursorPages after={after} next={answer.next} />
          </>
        )}
      </WithAnswer>
      <Suppressions project={project} isOperator={isOperator} />
    </>
  )
}

interface ListProps {
  readonly answer: Answer<'listErasures'>
  readonly project: ChosenProject
}

function List({ answer: { erasures }, project }: ListProps) {
  if (erasures.length === 0) return <EmptyCard title="Erasures">Nobody was erased in this project.</EmptyCard>
  return (
    <TableCard
      title={`Erasures of ${project.name}`}
      columns={['Requested', 'Status', right('Users'), 'Suppressed', 'Completed', 'Unfinished stores']}
    >
      {erasures.map(({ erasureId, requestedAt, completedAt, status, users, suppress, stores }) => (
        <tr key={erasureId}>
          <th scope="row">
            <Link to="/erasures/$organization/$project/$erasureId" params={{ ...project.path, erasureId }}>
              <Time at={requestedAt} />
            </Link>
          </th>
          <td>
            <ErasureStatus status={status} />
          </td>
          <td className="right num">{figure(users)}</td>
          <td>{suppress ? 'yes' : 'no'}</td>
          <td>{completedAt === undefined ? '–' : <Time at={completedAt} />}</td>
          <td>
            {stores
              .filter((store) => store.status !== 'complete')
              .map(({ store }) => store)
              .join(', ')}
          </td>
        </tr>
      ))}
    </TableCard>
  )
}
