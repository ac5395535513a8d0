import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import type { EndpointPath } from '../../../src/webhooks/api.ts'
import { callApi, useChange } from '../app/api.ts'
import { ActionDialog } from '../components/action-dialog.tsx'
import { figure } from '../components/figures.ts'
import { InstantField } from '../components/instant-field.tsx'
import { instantOf } from '../components/instant-of.ts'
import { useZone } from '../components/time.tsx'

const DAY_MS = 86_400_000
/** Answers that a command changes. */
const SHOWN_BY = ['readEndpoint', 'listEndpoints', 'listDeliveries'] as const

interface ActionProps {
  readonly path: EndpointPath
}
interface ActionsProps extends ActionProps {
  readonly answer: Answer<'readEndpoint'>
}

/** Buttons of operators that change an endpoint, or send something to it. The server logs each use. */
export function EndpointActions({ path, answer }: ActionsProps) {
  const { state, disabledAt } = answer.endpoint
  return (
    <div className="actions">
      {state === 'disabled' && disabledAt !== undefined && <Enable path={path} />}
      <Test path={path} />
      <RetryFailed path={path} />
      <StartReplay path={path} answer={answer} />
    </div>
  )
}

function Enable({ path }: ActionProps) {
  const enable = useChange('enableEndpoint', ...SHOWN_BY)
  return (
    <ActionDialog label="Enable" action="Enable this endpoint" onConfirm={() => enable.mutateAsync(path)}>
      <p>
        The dispatcher continues where the endpoint stopped: it sends the pending deliveries, then reads on in the log.
        Enable it once the receiver works again.
      </p>
    </ActionDialog>
  )
}

/** The delivery shows the result of a test. */
function Test({ path }: ActionProps) {
  const navigate = useNavigate()
  const onConfirm = async () => {
    const { deliveryId } = await callApi('testEndpoint', path)
    await navigate({
      to: '/webhooks/$organization/$project/$endpointId/$deliveryId',
      params: { ...path, deliveryId },
    })
  }
  return (
    <ActionDialog label="Test" action="Send a test" onConfirm={onConfirm}>
      <p>
        The dispatcher sends one request of the type <code>webhook.test</code>, once, also to a disabled endpoint. It
        contains no data of users. The next screen shows the result.
      </p>
    </ActionDialog>
  )
}

/** The chosen period as members of a request. */
function usePeriod() {
  const [from, to] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)]
  const [initialMs] = useState(() => Date.now() - DAY_MS)
  const zone = useZone()
  const period = () => {
    const end = to.current?.value
    return { from: instantOf(from.current?.value ?? '', zone), ...(end && { to: instantOf(end, zone) }) }
  }
  const fields = (
    <>
      <InstantField label="From" ref={from} initialMs={initialMs} />
      <InstantField label="To" ref={to} note="empty: now" />
    </>
  )
  return { period, fields }
}

function RetryFailed({ path }: ActionProps) {
  const { period, fields } = usePeriod()
  const retry = useChange('retryFailed', ...SHOWN_BY)
  return (
    <>
      <ActionDialog
        label="Retry failed"
        action="Retry failed deliveries"
        onOpen={retry.reset}
        onConfirm={() => retry.mutateAsync({ ...path, ...period() })}
      >
        <p>Each failed delivery whose record is from this period becomes pending, and is attempted again.</p>
        {fields}
      </ActionDialog>
      <output className="quiet">
        {retry.data &&
          (retry.data.retried === 1
            ? 'One failed delivery is retried.'
            : `${figure(retry.data.retried)} failed deliveries are retried.`)}
      </output>
    </>
  )
}

function StartReplay({ path, answer: { wanted, endpoint } }: ActionsProps) {
  const client = useQueryClient()
  const { period, fields } = usePeriod()
  const events = useRef<HTMLFieldSetElement>(null)
  const onConfirm = async () => {
    const boxes = [...(events.current?.querySelectorAll('input') ?? [])].filter(({ checked }) => checked)
    const chosen = wanted.filter((event) => boxes.some(({ value }) => value === event))
    if (chosen.length === 0) throw new Error('Choose one event or more.')
    await callApi('startWebhookReplay', {
      ...path,
      ...period(),
      ...(chosen.length < wanted.length && { events: chosen }),
    })
    await Promise.all(SHOWN_BY.map((name) => client.invalidateQueries({ queryKey: [name] })))
  }
  return (
    <ActionDialog label="Replay" action="Replay records to this endpoint" onConfirm={onConfirm}>
      <p>
        The endpoint gets every record of this period again, in the order of each user. A <code>webhook-id</code> stays
        the same, so the receiver can drop duplicates. Live deliveries go on beside it. A replay cannot be stopped.
      </p>
      {endpoint.state === 'disabled' && <p>The endpoint is disabled: the replay waits until it is enabled.</p>}
      {fields}
      <fieldset ref={events} className="checks">
        <legend>Events</legend>
        {wanted.map((event) => (
          <label key={event} className="check">
            <input type="checkbox" value={event} defaultChecked />
            {event}
          </label>
        ))}
      </fieldset>
    </ActionDialog>
  )
}
