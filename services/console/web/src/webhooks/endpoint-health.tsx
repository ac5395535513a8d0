import type { Answer } from '../../../src/api-routes.ts'
import { Age } from '../components/age.tsx'
import { figure } from '../components/figures.ts'
import { Time } from '../components/time.tsx'
import { WithLinks } from '../components/with-links.tsx'

export type Endpoint = Answer<'readEndpoint'>['endpoint']

/** Circumstances of an answer with times of the console's clock. */
export interface AnswerTimes {
  readonly at: string
  readonly receivedAtMs: number
}

interface EndpointHealthProps {
  readonly endpoint: Endpoint
  readonly times: AnswerTimes
  readonly countedUpTo: number
}

/** Colours of the states. The text names them, too. */
const STATE_PILLS = {
  live: 'delivered',
  'catching-up': 'waiting',
  disabled: 'expired',
} as const satisfies Record<Endpoint['state'], string>

export function EndpointState({ endpoint: { state, failingSince } }: { readonly endpoint: Endpoint }) {
  return (
    <>
      <span className={`pill ${STATE_PILLS[state]}`}>{state}</span>
      {failingSince !== undefined && state !== 'disabled' && (
        <>
          {' '}
          <span className="pill expired">failing</span>
        </>
      )}
    </>
  )
}

/** The age of the oldest delivery that is pending. */
export function OldestPending({
  endpoint: { oldestPendingAt },
  times: { at, receivedAtMs },
}: {
  readonly endpoint: Endpoint
  readonly times: AnswerTimes
}) {
  if (oldestPendingAt === undefined) return '–'
  return <Age of={oldestPendingAt} answeredAt={at} receivedAtMs={receivedAtMs} />
}

/** Formats a count that ends at a number. */
export const countOf = (count: number, upTo: number): string =>
  count < upTo ? figure(count) : `${figure(count)} or more`

export function TimeOrDash({ at }: { readonly at: string | undefined }) {
  return at === undefined ? '–' : <Time at={at} />
}

/** Health and settings of one endpoint. */
export function EndpointHealth({ endpoint, times, countedUpTo }: EndpointHealthProps) {
  const { url, events, include, state, because, disabledAt, addedAt, behind, pending, failed } = endpoint
  return (
    <dl className="settings">
      <dt>Address</dt>
      <dd>
        <code>{url}</code>
      </dd>
      <dt>Events</dt>
      <dd>{events ? events.join(', ') : 'all'}</dd>
      <dt>Includes</dt>
      <dd>{include.length === 0 ? 'nothing besides the thin payload' : include.join(', ')}</dd>
      <dt>State</dt>
      <dd aria-live="polite">
        <EndpointState endpoint={endpoint} />
        {disabledAt !== undefined && (
          <>
            {' '}
            since <Time at={disabledAt} />.
          </>
        )}
        {because !== undefined && (
          <>
            {' '}
            <WithLinks text={because} />
          </>
        )}
        {state === 'disabled' && <Disabled endpoint={endpoint} />}
      </dd>
      <dt>Behind</dt>
      <dd className="num">{figure(behind)} records of the log</dd>
      <dt>Pending</dt>
      <dd className="num">{countOf(pending, countedUpTo)}</dd>
      <dt>Oldest pending</dt>
      <dd>
        <OldestPending endpoint={endpoint} times={times} />
      </dd>
      <dt>Failed, 30 days</dt>
      <dd className="num">{countOf(failed, countedUpTo)}</dd>
      <dt>Failing since</dt>
      <dd>
        <TimeOrDash at={endpoint.failingSince} />
      </dd>
      <dt>Last delivered</dt>
      <dd>
        <TimeOrDash at={endpoint.lastDeliveredAt} />
      </dd>
      <dt>Added</dt>
      <dd>
        <Time at={addedAt} />
      </dd>
    </dl>
  )
}

/** The way back. */
function Disabled({ endpoint: { disabledAt } }: { readonly endpoint: Endpoint }) {
  return (
    <p className="quiet">
      The endpoint keeps its place in the log: nothing is lost.{' '}
      {disabledAt === undefined ? (
        <>
          To enable it, set <code>enabled: true</code> in the workspace file and run <code>nextvisit apply FILE</code>.
        </>
      ) : (
        'To resume, an operator enables it.'
      )}
    </p>
  )
}
