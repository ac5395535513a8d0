import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { Answer, ApiName } from '../../../src/api-routes.ts'
import { apiQuery } from '../app/api.ts'
import { figure } from '../components/figures.ts'
import { Mark } from '../components/mark.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { type DecisionOfConsumer, isFailed, isNothing, parseDecisions } from './decisions.ts'

const RELOAD_AFTER_MS = 1_000

const ROUTES_WITH_DEAD_LETTERS: readonly ApiName[] = [
  'listConsumers',
  'listDeadLetters',
  'readDeadLetter',
  'listDecidedDeadLetters',
  'readDeadLettersOfRecord',
]

/** Reloads everything that a decision on dead letters changes. */
export async function reloadDeadLetters(client: QueryClient): Promise<void> {
  await Promise.all(ROUTES_WITH_DEAD_LETTERS.map((name) => client.invalidateQueries({ queryKey: [name] })))
}

/** Result of a decision in each consumer. `decision`: as the address of the page names it. */
export function DecisionCard({ decision }: { readonly decision: string }) {
  // The pressed button may be gone. Keyboard users continue from here.
  const card = useRef<HTMLElement>(null)
  useEffect(() => card.current?.focus(), [])
  const decisions = parseDecisions(decision)
  return (
    <section className="card decision" ref={card} tabIndex={-1} aria-label="Result">
      {decisions.map((one) => (
        <section key={one.service} aria-label={`Result in ${one.service}`}>
          {decisions.length > 1 && <h2>{one.service}</h2>}
          <Result decision={one} />
        </section>
      ))}
    </section>
  )
}

function Result({ decision }: { readonly decision: DecisionOfConsumer }) {
  if (isFailed(decision))
    return (
      <output>
        <Mark kind="critical" label="failed" /> {decision.service} did not answer in time, and may not have decided.
        Decide again when it answers: the other consumers keep this decision.
      </output>
    )
  if (isNothing(decision))
    return (
      <output>
        Nothing was changed: none of the letters was waiting for a decision any more. Each letter shows who decided.
      </output>
    )
  return <Followed {...decision} />
}

/** Follows the letters of a decision until none waits. */
function Followed({ service, decidedAt }: DecisionOfConsumer) {
  const client = useQueryClient()
  const query = useQuery({
    ...apiQuery('readDecision', { service, decidedAt }),
    refetchInterval: ({ state }) => (state.data && state.data.retry === 0 ? false : RELOAD_AFTER_MS),
  })
  const isThrough = query.data?.retry === 0
  useEffect(() => {
    if (isThrough) void reloadDeadLetters(client)
  }, [client, isThrough])
  return (
    <WithAnswer query={query} name="the result">
      {(progress) => <Outcome service={service} decidedAt={decidedAt} progress={progress} />}
    </WithAnswer>
  )
}

function Outcome({
  service: consumer,
  decidedAt,
  progress,
}: DecisionOfConsumer & { readonly progress: Answer<'readDecision'> }) {
  const { retry, retried, dead, discarded, deadAgain } = progress
  const all = retry + retried + dead + discarded
  return (
    <>
      <p className="quiet">
        Decided at <Time at={decidedAt} />
      </p>
      <output>
        {all === 0 && <>Later decisions have changed all of these letters.</>}
        {discarded > 0 && (
          <p>
            <Mark kind="none" label="discarded" /> {figure(discarded)} discarded. They are kept, and never folded.
          </p>
        )}
        {retry > 0 && (
          <p>
            {figure(retry)} of {figure(all)} waiting for {consumer} …
          </p>
        )}
        {retried > 0 && (
          <p>
            <Mark kind="good" label="folded" /> {figure(retried)} folded.
          </p>
        )}
        {dead > 0 && (
          <p>
            <Mark kind="critical" label="dead again" /> {figure(dead)} dead again.
          </p>
        )}
      </output>
      {retry > 0 && (
        <>
          <progress max={all} value={all - retry} aria-label="Retried" />
          <p className="quiet hint">
            The owner of each partition folds up to 100 letters a second. A partition that lags, is halted or has no
            owner retries nothing until it follows the log again; see Operations.
          </p>
        </>
      )}
      {deadAgain.length > 0 && (
        <ul className="causes">
          {deadAgain.map(({ cause, causeId, count }) => (
            <li key={causeId}>
              {figure(count)}:{' '}
              <Link to="/operations/$consumer/dead-letters" params={{ consumer }} search={{ cause: causeId }}>
                {cause}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
