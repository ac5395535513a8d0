import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import type { DeliveryPath } from '../../../src/webhooks/api.ts'
import { apiQuery, RELOAD_AFTER_MS, useChange } from '../app/api.ts'
import { useIsOperator } from '../app/session.ts'
import { ActionDialog } from '../components/action-dialog.tsx'
import { bytes, milliseconds } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { Reveal } from '../components/reveal.tsx'
import { NamedRow, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { ProjectCrumbs } from '../components/with-project.tsx'
import { indentJson } from '../dead-letters/indent-json.ts'
import { AttemptOutcome, DeliveryStatus, Next } from './delivery-cells.tsx'
import { TimeOrDash } from './endpoint-health.tsx'

const PENDING_RELOAD_AFTER_MS = 2_000

type Shown = Answer<'readDelivery'>

/** One delivery: its request, and each attempt with its response. */
export function Delivery() {
  const path = useParams({ from: '/webhooks/$organization/$project/$endpointId/$deliveryId' })
  const { organization, project, endpointId } = path
  const isOperator = useIsOperator()
  const query = useQuery({
    ...apiQuery('readDelivery', path),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? PENDING_RELOAD_AFTER_MS : RELOAD_AFTER_MS),
  })
  const { data } = query
  return (
    <>
      <ProjectCrumbs path={path}>
        <Link to="/webhooks" search={{ project: `${organization}/${project}` }}>
          Webhooks
        </Link>{' '}
        /{' '}
        <Link to="/webhooks/$organization/$project/$endpointId" params={{ organization, project, endpointId }}>
          {endpointId}
        </Link>
      </ProjectCrumbs>
      <header className="page-head user-head">
        <div>
          <h1>{data?.type ?? 'Delivery'}</h1>
          {data && (
            <p aria-live="polite">
              <DeliveryStatus status={data.status} />
            </p>
          )}
        </div>
        {isOperator && data && data.type !== 'webhook.test' && <Retry path={path} delivery={data} />}
      </header>
      <WithAnswer query={query} name="the delivery">
        {(delivery) => (
          <>
            <About delivery={delivery} path={path} />
            <Attempts delivery={delivery} />
            <RequestBody delivery={delivery} path={path} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

interface DeliveryProps {
  readonly delivery: Shown
  readonly path: DeliveryPath
}

function About({ delivery, path: { organization, project } }: DeliveryProps) {
  const { webhookId, deliveryId, userId, replayId, status, timestamp, createdAt, endedAt } = delivery
  return (
    <TableCard title="Details">
      <NamedRow name="webhook-id" kind="value">
        <code>{webhookId}</code>
      </NamedRow>
      <NamedRow name="Delivery" kind="value">
        <code>{deliveryId}</code>
      </NamedRow>
      <NamedRow name="User" kind="value">
        {userId === undefined ? (
          'none: a test'
        ) : (
          <Link
            to="/users/$organization/$project/$userId"
            params={{ organization, project, userId }}
            search={{ tab: 'webhooks' }}
            className="mono"
          >
            {userId}
          </Link>
        )}
      </NamedRow>
      <NamedRow name="Replay" kind="value">
        {replayId === undefined ? 'none' : <code>{replayId}</code>}
      </NamedRow>
      <NamedRow name="Record time">
        <Time at={timestamp} />
      </NamedRow>
      <NamedRow name="Created">
        <Time at={createdAt} />
      </NamedRow>
      <NamedRow name="Ended">
        <TimeOrDash at={endedAt} />
        {status === 'pending' && <Next nextAttemptAt={delivery.nextAttemptAt} />}
      </NamedRow>
    </TableCard>
  )
}

function Attempts({ delivery: { attemptLog, withheld } }: { readonly delivery: Shown }) {
  if (attemptLog.length === 0) return <EmptyCard title="Attempts">No attempt has finished yet.</EmptyCard>
  return (
    <TableCard title="Attempts" columns={['Attempt', 'Time', 'Duration', 'Outcome', 'Response']}>
      {attemptLog.map(({ at, durationMs, outcome, httpStatus, error, response }, index) => (
        <tr key={`${index}/${at}`}>
          <th scope="row" className="num">
            {index + 1}
          </th>
          <td>
            <Time at={at} />
          </td>
          <td className="num">{milliseconds(durationMs)}</td>
          <td>
            <AttemptOutcome outcome={outcome} httpStatus={httpStatus} />
          </td>
          <td className="value">
            {error !== undefined && <p>{error}</p>}
            {response !== undefined && response !== '' && <pre>{response}</pre>}
            {withheld !== null && <p className="quiet">body hidden</p>}
          </td>
        </tr>
      ))}
    </TableCard>
  )
}

const WITHHELD = {
  masked: 'Hidden because it may contain personal data.',
  erased: 'The user is erased. The dispatcher deletes this delivery.',
  unknown: 'Hidden while the gateway cannot tell whether the user is erased. Try again soon.',
} as const satisfies Record<NonNullable<Shown['withheld']>, string>

/** The bytes that are signed and sent. Viewers must ask for them. */
function RequestBody({ delivery: { body, withheld }, path }: DeliveryProps) {
  return (
    <section className="card letter-value">
      <h2>Request body</h2>
      {withheld !== null ? (
        <>
          <p className="quiet">{WITHHELD[withheld]}</p>
          {withheld === 'masked' && <Reveal name="revealDelivery" input={path} label="Show the bodies" note="" />}
        </>
      ) : body === undefined ? (
        <p className="quiet">Not captured yet: traits and answers are added before the first attempt.</p>
      ) : (
        <>
          <p className="quiet">{bytes(new TextEncoder().encode(body).length)} of JSON, indented here.</p>
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must reach the scroll bar */}
          <pre tabIndex={0}>{indentJson(body)}</pre>
        </>
      )}
    </section>
  )
}

function Retry({ path, delivery: { status } }: DeliveryProps) {
  const retry = useChange('retryDelivery', 'readDelivery', 'listDeliveries', 'readEndpoint')
  const isPending = status === 'pending'
  return (
    <div className="actions">
      <ActionDialog
        label={isPending ? 'Attempt now' : 'Retry'}
        action={isPending ? 'Attempt this delivery now' : 'Retry this delivery'}
        onConfirm={() => retry.mutateAsync(path)}
      >
        <p>
          {isPending
            ? 'The dispatcher attempts it now, or as soon as the earlier deliveries of the user have ended.'
            : 'The dispatcher sends the same body with the same webhook-id again.'}
        </p>
        {status === 'delivered' && <p>The receiver has accepted it already, and gets it a second time.</p>}
      </ActionDialog>
    </div>
  )
}
