import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { TryAnswer } from '../../../src/try-it/api.ts'
import { Step } from './step.tsx'

const EVENT = 'Checkout Completed'
const PLANS = ['pro', 'free'] as const

/** Identify, track, visit: the whole product in three steps, with the demo's keys. */
export function TryIt() {
  const navigate = useNavigate()
  const { user } = useSearch({ from: '/try' })
  const [proposed] = useState(() => `ada-${Date.now().toString(36)}`)
  const userName = user ?? proposed
  const [plan, setPlan] = useState<(typeof PLANS)[number]>('pro')
  const [eventName, setEventName] = useState(EVENT)
  const [last, setLast] = useState<{ readonly userName: string; readonly user: TryAnswer['user'] }>()
  const onAnswer = ({ user: answered }: TryAnswer) => setLast({ userName, user: answered })
  const rename = (name: string) => void navigate({ to: '/try', replace: true, search: { user: name || undefined } })
  return (
    <>
      <header className="page-head">
        <h1>Try it</h1>
        <p className="quiet">
          A customer's server says who a user is and what happened to them. A form that matches waits for their next
          visit. These requests go to the gateway of this installation, with the demo's keys.
        </p>
      </header>
      <label className="try-user">
        userName
        <input
          value={userName}
          maxLength={255}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => rename(event.target.value)}
        />
      </label>
      {/* Answers about one user do not stand beside another one's name. */}
      <ol className="steps" key={userName}>
        <Step
          number={1}
          title="Identify"
          about="Your server says who the user is. The demo's form is for users with plan: pro."
          action="Identify"
          path="try/identify"
          body={{ userName, plan }}
          onAnswer={onAnswer}
        >
          <label>
            Trait plan
            <select
              value={plan}
              onChange={(event) => setPlan(PLANS.find((one) => one === event.target.value) ?? 'pro')}
            >
              {PLANS.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
        </Step>
        <Step
          number={2}
          title="Track"
          about="It says what happened to them. A checkout queues the form, if every gate passes."
          action="Track"
          path="try/track"
          body={{ userName, eventName }}
          onAnswer={onAnswer}
        >
          <label>
            Event
            <input value={eventName} maxLength={100} onChange={(event) => setEventName(event.target.value)} />
          </label>
        </Step>
        <Step
          number={3}
          title="Visit"
          about="The user's next visit, as the SDK in a page makes it, gets the form: once."
          action="Visit"
          path="try/visit"
          body={{ userName }}
          onAnswer={onAnswer}
        />
      </ol>
      {last?.userName === userName && (
        <p className="next">
          <Link to="/users/$organization/$project/$userId" params={last.user} className="button primary">
            Timeline of {userName}
          </Link>
          <Link
            to="/users/$organization/$project/$userId"
            params={last.user}
            search={{ tab: 'forms' }}
            className="button"
          >
            Why, gate by gate
          </Link>
        </p>
      )}
    </>
  )
}
