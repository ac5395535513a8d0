import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { DecisionProgress } from '../../../src/dead-letters/api.ts'
import { apiQuery } from '../app/use-api.ts'
import { figure } from '../parts/figures.ts'
import { Mark } from '../parts/mark.tsx'
import { Time } from '../parts/time.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { reloadDeadLetters } from './reload-dead-letters.ts'

interface DecisionCardProps {
  readonly consumer: string
  /** Names the decision. */
  readonly decidedAt: string
}

const RELOAD_AFTER_MS = 1_000
/** Replaces the time of a decision that changed nothing. */
export const NOTHING_DECIDED = 'nothing'

/** Result of a decision. */
export function DecisionCard({ consumer, decidedAt }: DecisionCardProps) {
  // The pressed button may be gone. Keyboard users continue from here.
  const card = useRef<HTMLElement>(null)
  useEffect(() => card.current?.focus(), [])
  return (
    <section className="card decision" ref={card} tabIndex={-1} aria-label="Result">
      {decidedAt === NOTHING_DECIDED ? (
        <output>
          Nothing was changed: none of the letters was waiting for a decision any more. Each letter shows who decided.
        </output>
      ) : (
        <Followed consumer={consumer} decidedAt={decidedAt} />
      )}
    </section>
  )
}

/** Follows the letters of a decision until none waits. */
function Followed({ consumer, decidedAt }: DecisionCardProps) {
  const client = useQueryClient()
  const query = useQuery({
    ...apiQuery('readDecision', { service: consumer, decidedAt }),
    refetchInterval: ({ state }) => (state.data && state.data.retry === 0 ? false : RELOAD_AFTER_MS),
  })
  const isThrough = query.data?.retry === 0
  useEffect(() => {
    if (isThrough) void reloadDeadLetters(client)
  }, [client, isThrough])
  return (
    <WithAnswer query={query} what="the result">
      {(progress) => <Outcome consumer={consumer} decidedAt={decidedAt} progress={progress} />}
    </WithAnswer>
  )
}

function Outcome({ consumer, decidedAt, progress }: DecisionCardProps & { readonly progress: DecisionProgress }) {
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
