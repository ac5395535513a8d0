import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Input } from '../../../src/api-routes.ts'
import type { TryAnswer } from '../../../src/try-it/api.ts'
import { callApi } from '../app/api.ts'
import { ErrorNote } from '../components/notes.tsx'
import { withoutReload } from '../components/without-reload.ts'

type TryName = 'tryIdentify' | 'tryTrack' | 'tryVisit'

interface StepProps<Name extends TryName> {
  readonly number: number
  readonly title: string
  readonly about: string
  readonly name: Name
  readonly input: Input<Name>
  readonly onAnswer: (answer: TryAnswer) => void
  readonly children?: ReactNode
}

/** One request to the gateway, with its answer. */
export function Step<Name extends TryName>({ number, title, about, name, input, onAnswer, children }: StepProps<Name>) {
  const request = useMutation({
    mutationFn: (): Promise<TryAnswer> => callApi(name, input),
    onSuccess: onAnswer,
  })
  return (
    <li className="card step">
      <form onSubmit={withoutReload(() => request.mutate())}>
        <StepTitle number={number} title={title} />
        <p className="quiet">{about}</p>
        {children}
        <button type="submit" className="primary" disabled={request.isPending}>
          {request.isPending ? 'Sending …' : title}
        </button>
      </form>
      {request.error && <ErrorNote error={request.error} />}
      <div aria-live="polite">{request.data && <Exchange answer={request.data} />}</div>
    </li>
  )
}

export function StepTitle({ number, title }: Pick<StepProps<TryName>, 'number' | 'title'>) {
  return (
    <h2>
      <span className="number" aria-hidden="true">
        {number}
      </span>
      {title}
    </h2>
  )
}

/** A request, and the gateway's answer. */
export function Exchange({ answer }: { readonly answer: TryAnswer }) {
  const { request, status, body } = answer
  return (
    <>
      <h3>
        POST {request.path} <span className="quiet">({request.key} test key)</span>
      </h3>
      <pre>{request.body}</pre>
      <h3>
        Response <span className={`pill ${status < 400 ? 'delivered' : 'expired'}`}>{status}</span>
      </h3>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must reach the scroll bar */}
      <pre className="answer" tabIndex={0}>
        {indented(body)}
      </pre>
      <Meaning answer={answer} />
    </>
  )
}

/** Explains an answer that may surprise, and links to the details. */
function Meaning({ answer: { request, status, body, user } }: { readonly answer: TryAnswer }) {
  const to = '/users/$organization/$project/$userId'
  const answered = parsed(body) as Partial<GatewayAnswer> | undefined
  if (status === 404) return <p className="note">This user has not been identified yet. Run step 1, Identify, first.</p>
  if (answered?.triggersEvaluated === true && answered.formsQueued === 0)
    return (
      <p className="note">
        <span>
          No form was queued.{' '}
          <Link to={to} params={user} search={{ tab: 'forms' }}>
            See why, form by form
          </Link>
        </span>
      </p>
    )
  if (request.key === 'sdk' && status === 200 && answered?.nextFeedbackId === undefined)
    return (
      <p className="note">
        <span>
          This visit gets no form.{' '}
          <Link to={to} params={user}>
            See why in the timeline
          </Link>
        </span>
      </p>
    )
  return null
}

/** Members of the gateway's answers. */
interface GatewayAnswer {
  readonly triggersEvaluated: boolean
  readonly formsQueued: number
  readonly nextFeedbackId: string
}

function indented(json: string): string {
  const answer = parsed(json)
  return answer === undefined ? json : JSON.stringify(answer, null, 2)
}

/** Parses JSON; undefined if it is none. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
