import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import {
  DEMO_PLANS,
  MAX_EVENT_NAME_CHARACTERS,
  MAX_USER_NAME_CHARACTERS,
  unitsOf,
} from '../../../src/shared-with-pages.ts'
import type { TryAnswer } from '../../../src/try-it/api.ts'
import { AnswerStep, offerOf } from './answer-step.tsx'
import { Step } from './step.tsx'

/**
 * The query key of the entered userName. It may be a real one: it must not be in the address or the browser's history, and
 * signing out clears it.
 */
const TRIED_NAME = ['tried-name']

/** Identify, track, visit, answer: the product in four steps, with the demo's test keys. */
export function TryIt() {
  const client = useQueryClient()
  const { data: entered } = useQuery<string>({ queryKey: TRIED_NAME, queryFn: skipToken, gcTime: Infinity })
  const [proposed] = useState(() => `ada-${Date.now().toString(36)}`)
  const userName = entered ?? proposed
  return (
    <>
      <header className="page-head">
        <h1>Try it</h1>
        <p className="quiet">
          Your server tells Nextvisit who a user is and what they did. A form that matches waits for the user's next
          visit. These requests go to the gateway of this installation, with the demo's test keys: results count test
          answers apart.
        </p>
      </header>
      <label className="try-user">
        userName
        <input
          value={userName}
          maxLength={unitsOf(MAX_USER_NAME_CHARACTERS)}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => client.setQueryData(TRIED_NAME, event.target.value)}
        />
      </label>
      <Steps userName={userName} />
    </>
  )
}

function Steps({ userName }: { readonly userName: string }) {
  const [plan, setPlan] = useState<(typeof DEMO_PLANS)[number]>('pro')
  const [eventName, setEventName] = useState('Checkout Completed')
  const [last, setLast] = useState<{ readonly userName: string; readonly user: TryAnswer['user'] }>()
  const [visit, setVisit] = useState<{ readonly userName: string; readonly answer: TryAnswer }>()
  const onAnswer = ({ user }: TryAnswer) => setLast({ userName, user })
  const onVisit = (answer: TryAnswer) => {
    onAnswer(answer)
    setVisit({ userName, answer })
  }
  const visited = visit?.userName === userName ? visit.answer : undefined
  const offer = useMemo(() => visited && offerOf(visited), [visited])
  return (
    <>
      {/* Answers about one user must not remain under another name. */}
      <ol className="steps" key={userName}>
        <Step
          number={1}
          title="Identify"
          about="Your server says who the user is. The demo's form is for users with plan: pro."
          name="tryIdentify"
          input={{ userName, plan }}
          onAnswer={onAnswer}
        >
          <label>
            Trait plan
            <select
              value={plan}
              onChange={(event) => setPlan(DEMO_PLANS.find((one) => one === event.target.value) ?? 'pro')}
            >
              {DEMO_PLANS.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
        </Step>
        <Step
          number={2}
          title="Track"
          about="Your server reports an event. A checkout queues the form if every gate passes."
          name="tryTrack"
          input={{ userName, eventName }}
          onAnswer={onAnswer}
        >
          <label>
            Event
            <input
              value={eventName}
              maxLength={unitsOf(MAX_EVENT_NAME_CHARACTERS)}
              onChange={(event) => setEventName(event.target.value)}
            />
          </label>
        </Step>
        <Step
          number={3}
          title="Visit"
          about="The user's next visit, which the SDK in a page reports, gets the form once."
          name="tryVisit"
          input={{ userName }}
          onAnswer={onVisit}
        />
        <AnswerStep number={4} userName={userName} offer={offer} project={visited?.user} />
      </ol>
      {last?.userName === userName && <UserLinks {...last} />}
    </>
  )
}

function UserLinks({ userName, user }: Pick<TryAnswer, 'user'> & { readonly userName: string }) {
  return (
    <p className="next">
      <Link to="/users/$organization/$project/$userId" params={user} className="button primary">
        Timeline of {userName}
      </Link>
      <Link to="/users/$organization/$project/$userId" params={user} search={{ tab: 'forms' }} className="button">
        Why, gate by gate
      </Link>
    </p>
  )
}
