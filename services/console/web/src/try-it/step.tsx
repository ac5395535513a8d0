import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { TryAnswer } from '../../../src/api/try-it.ts'
import { postTo } from '../app/call-api.ts'
import { ErrorNote } from '../parts/notes.tsx'
import { withoutReload } from '../parts/without-reload.ts'

export interface StepProps {
  readonly number: number
  readonly title: string
  readonly about: string
  readonly action: string
  readonly path: string
  readonly body: object
  readonly onAnswer: (answer: TryAnswer) => void
  readonly children?: ReactNode
}

/** One request to the gateway: what is sent, and what it answers. */
export function Step({ number, title, about, action, path, body, onAnswer, children }: StepProps) {
  const client = useQueryClient()
  const request = useMutation({
    mutationFn: () => postTo<TryAnswer>(path, body),
    onSuccess: async (answer) => {
      onAnswer(answer)
      await client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).includes(answer.user.userId) })
    },
  })
  return (
    <li className="card step">
      <form onSubmit={withoutReload(() => request.mutate())}>
        <h2>
          <span className="number" aria-hidden="true">
            {number}
          </span>
          {title}
        </h2>
        <p className="quiet">{about}</p>
        {children}
        <button type="submit" className="primary" disabled={request.isPending}>
          {request.isPending ? 'Sending …' : action}
        </button>
      </form>
      {request.error && <ErrorNote error={request.error} />}
      <div aria-live="polite">{request.data && <Exchange answer={request.data} />}</div>
    </li>
  )
}

function Exchange({ answer: { request, status, body, user } }: { readonly answer: TryAnswer }) {
  return (
    <>
      <h3>
        POST {request.path} <span className="quiet">({request.key} key)</span>
      </h3>
      <pre>{request.body}</pre>
      <h3>
        Answer <span className={`pill ${status < 400 ? 'delivered' : 'expired'}`}>{status}</span>
      </h3>
      <pre>{indented(body)}</pre>
      {hasQueuedNothing(body) && (
        <p className="note">
          <span>
            No form was queued.{' '}
            <Link to="/users/$organization/$project/$userId" params={user} search={{ tab: 'forms' }}>
              See why, form by form
            </Link>
          </span>
        </p>
      )}
    </>
  )
}

/** The event was evaluated, and no form waits because of it. */
function hasQueuedNothing(json: string): boolean {
  const answer = parsed(json) as { readonly triggersEvaluated?: boolean; readonly formsQueued?: number } | undefined
  return answer?.triggersEvaluated === true && answer.formsQueued === 0
}

function indented(json: string): string {
  const answer = parsed(json)
  return answer === undefined ? json : JSON.stringify(answer, null, 2)
}

/** undefined: it is no JSON. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
