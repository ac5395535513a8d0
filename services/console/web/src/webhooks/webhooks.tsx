import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import { pageQuery } from '../app/api.ts'
import { figure } from '../components/figures.ts'
import { EmptyList } from '../components/notes.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { RunbookLink } from '../components/with-links.tsx'
import { type ChosenProject, ProjectSelect, WithProject } from '../components/with-project.tsx'
import { type AnswerTimes, countOf, EndpointState, OldestPending, TimeOrDash } from './endpoint-health.tsx'
import { StaleNote } from './stale-note.tsx'

/** The webhook endpoints of a project, and their health. */
export function Webhooks() {
  const { project: chosen } = useSearch({ from: '/webhooks' })
  return (
    <>
      <header className="page-head">
        <h1>Webhooks</h1>
        <p className="quiet">
          Each endpoint is a position in the log: nothing is lost while it is disabled or fails. Runbook:{' '}
          <RunbookLink name="webhooks" />
        </p>
      </header>
      <WithProject chosen={chosen}>{(project) => <OfProject key={project.name} project={project} />}</WithProject>
    </>
  )
}

function OfProject({ project }: { readonly project: ChosenProject }) {
  const navigate = useNavigate()
  const query = useQuery(pageQuery('listEndpoints', project.path))
  return (
    <>
      <search className="card filters">
        <ProjectSelect
          {...project}
          onChoose={(name) => void navigate({ to: '/webhooks', search: { project: name } })}
        />
      </search>
      <WithAnswer query={query} name="the endpoints">
        {(answer) => (
          <List answer={answer} project={project} times={{ at: answer.at, receivedAtMs: query.dataUpdatedAt }} />
        )}
      </WithAnswer>
    </>
  )
}

interface ListProps {
  readonly answer: Answer<'listEndpoints'>
  readonly project: ChosenProject
  readonly times: AnswerTimes
}

function List({ answer: { endpoints, isStale, countedUpTo }, project, times }: ListProps) {
  if (endpoints.length === 0) return <EmptyList title="Endpoints" things="webhooks" total={0} />
  return (
    <>
      <StaleNote isStale={isStale} />
      <TableCard
        title={`Endpoints of ${project.name}`}
        columns={[
          'Endpoint',
          'State',
          right('Behind'),
          right('Pending'),
          right('Failed, 30 days'),
          right('Oldest pending'),
          'Last delivered',
        ]}
      >
        {endpoints.map((endpoint) => (
          <tr key={endpoint.id}>
            <th scope="row">
              <Link
                to="/webhooks/$organization/$project/$endpointId"
                params={{ ...project.path, endpointId: endpoint.id }}
              >
                {endpoint.id}
              </Link>
              <p className="quiet">{endpoint.url}</p>
            </th>
            <td>
              <EndpointState endpoint={endpoint} />
              {endpoint.because !== undefined && <p className="quiet">{endpoint.because}</p>}
              {endpoint.failingSince !== undefined && (
                <p className="quiet">
                  failing since <Time at={endpoint.failingSince} />
                </p>
              )}
            </td>
            <td className="right num">{figure(endpoint.behind)}</td>
            <td className="right num">{countOf(endpoint.pending, countedUpTo)}</td>
            <td className="right num">{countOf(endpoint.failed, countedUpTo)}</td>
            <td className="right num">
              <OldestPending endpoint={endpoint} times={times} />
            </td>
            <td>
              <TimeOrDash at={endpoint.lastDeliveredAt} />
            </td>
          </tr>
        ))}
      </TableCard>
    </>
  )
}
