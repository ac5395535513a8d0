import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { pageQuery } from '../app/api.ts'
import { useIsOperator } from '../app/session.ts'
import { WithAnswer } from '../components/with-answer.tsx'
import { RunbookLink } from '../components/with-links.tsx'
import { ProjectCrumbs } from '../components/with-project.tsx'
import { Deliveries } from './deliveries.tsx'
import { EndpointActions } from './endpoint-actions.tsx'
import { EndpointHealth } from './endpoint-health.tsx'
import { Replays } from './replays.tsx'
import { StaleNote } from './stale-note.tsx'

const RUNNING_RELOAD_AFTER_MS = 2_000

/** One webhook endpoint: its health, its replays and its deliveries. */
export function Endpoint() {
  const path = useParams({ from: '/webhooks/$organization/$project/$endpointId' })
  const { organization, project, endpointId } = path
  const isOperator = useIsOperator()
  const paged = pageQuery('readEndpoint', path)
  const query = useQuery({
    ...paged,
    refetchInterval: ({ state }) =>
      state.data?.endpoint.replays.some(({ status }) => status === 'running')
        ? RUNNING_RELOAD_AFTER_MS
        : paged.refetchInterval,
  })
  return (
    <>
      <ProjectCrumbs path={path}>
        <Link to="/webhooks" search={{ project: `${organization}/${project}` }}>
          Webhooks
        </Link>
      </ProjectCrumbs>
      <header className="page-head user-head">
        <div>
          <h1>{endpointId}</h1>
          <p className="quiet">
            Runbook: <RunbookLink name="webhooks" />
          </p>
        </div>
        {isOperator && query.data && <EndpointActions path={path} answer={query.data} />}
      </header>
      <WithAnswer query={query} name="the endpoint">
        {({ at, endpoint, isStale, countedUpTo }) => (
          <>
            <StaleNote isStale={isStale} />
            <EndpointHealth
              endpoint={endpoint}
              times={{ at, receivedAtMs: query.dataUpdatedAt }}
              countedUpTo={countedUpTo}
            />
            <Replays replays={endpoint.replays} countedUpTo={countedUpTo} />
            <Deliveries path={path} />
          </>
        )}
      </WithAnswer>
    </>
  )
}
