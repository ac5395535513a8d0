import type { ProjectRef, WebhookDelivery } from '@nextvisit/contracts'
import { Link } from '@tanstack/react-router'
import { milliseconds } from '../components/figures.ts'
import { Time } from '../components/time.tsx'

/** Colours of the statuses. The text names them, too. */
const STATUS_PILLS = {
  pending: 'waiting',
  delivered: 'delivered',
  failed: 'expired',
} as const satisfies Record<WebhookDelivery['status'], string>

export function DeliveryStatus({ status }: Pick<WebhookDelivery, 'status'>) {
  return <span className={`pill ${STATUS_PILLS[status]}`}>{status}</span>
}

type Attempt = NonNullable<WebhookDelivery['lastAttempt']>

export function AttemptOutcome({ outcome, httpStatus }: Pick<Attempt, 'outcome' | 'httpStatus'>) {
  return (
    <>
      <span className={`pill ${outcome === 'delivered' ? 'delivered' : 'expired'}`}>{outcome}</span>
      {httpStatus !== undefined && <span className="num"> {httpStatus}</span>}
    </>
  )
}

/** Heads of {@link DeliveryCells}. */
export const DELIVERY_COLUMNS = ['Type', 'Status', 'Record time', 'Attempts', 'Last attempt'] as const

interface DeliveryCellsProps {
  readonly delivery: WebhookDelivery
  readonly path: ProjectRef & { readonly endpointId: string }
}

/** The cells of a delivery in a list. */
export function DeliveryCells({ delivery, path }: DeliveryCellsProps) {
  const { deliveryId, type, status, timestamp, attempts, lastAttempt, nextAttemptAt, replayId } = delivery
  return (
    <>
      <th scope="row">
        <Link to="/webhooks/$organization/$project/$endpointId/$deliveryId" params={{ ...path, deliveryId }}>
          {type}
        </Link>
        {replayId !== undefined && <p className="quiet">replay</p>}
      </th>
      <td>
        <DeliveryStatus status={status} />
      </td>
      <td>
        <Time at={timestamp} />
      </td>
      <td className="num">{attempts}</td>
      <td>
        {lastAttempt ? (
          <>
            <AttemptOutcome {...lastAttempt} />{' '}
            <span className="quiet num">{milliseconds(lastAttempt.durationMs)}</span>
            {lastAttempt.error !== undefined && <p className="quiet">{lastAttempt.error}</p>}
          </>
        ) : (
          '–'
        )}
        {status === 'pending' && <Next nextAttemptAt={nextAttemptAt} />}
      </td>
    </>
  )
}

/** The next attempt of a pending delivery. */
export function Next({ nextAttemptAt }: Pick<WebhookDelivery, 'nextAttemptAt'>) {
  return (
    <p className="quiet">
      {nextAttemptAt === undefined ? (
        'waits for an earlier delivery of the user'
      ) : (
        <>
          next attempt <Time at={nextAttemptAt} />
        </>
      )}
    </p>
  )
}
