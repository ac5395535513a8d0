import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { DecisionProgress } from '../../../src/dead-letters/api.ts'
import { apiQuery } from '../app/use-api.ts'
import { figure } from '../parts/figures.ts'
import { Mark } from '../parts/mark.tsx'
import { Time } from '../parts/time.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { reloadLetters } from './reload-letters.ts'

export interface DecisionCardProps {
  readonly consumer: string
  /** Names the decision. */
  readonly decidedAt: string
}

const AGAIN_AFTER_MS = 1_000
/** Stands for a decision where nothing was left to decide. */
export const NOTHING_DECIDED = 'nothing'

/** What became of the letters that somebody retried or discarded. */
export function DecisionCard({ consumer, decidedAt }: DecisionCardProps) {
  // The button that was pressed may be gone: whoever uses a keyboard goes on from here.
  const card = useRef<HTMLElement>(null)
  useEffect(() => card.current?.focus(), [])
  return (
    <section className="card decision" ref={card} tabIndex={-1} aria-label="What became of it">
      {decidedAt === NOTHING_DECIDED ? (
        <output>
          Nothing was done: none of the letters waited for a decision any more. Somebody else was first; a letter names
          who.
        </output>
      ) : (
        <Followed consumer={consumer} decidedAt={decidedAt} />
      )}
    </section>
  )
}

/** Follows the letters until none waits. */
function Followed({ consumer, decidedAt }: DecisionCardProps) {
  const client = useQueryClient()
  const query = useQuery({
    ...apiQuery('readDecision', { service: consumer, decidedAt }),
    refetchInterval: ({ state }) => (state.data && state.data.retry === 0 ? false : AGAIN_AFTER_MS),
  })
  const isThrough = query.data?.retry === 0
  useEffect(() => {
    if (isThrough) void reloadLetters(client)
  }, [client, isThrough])
  return (
    <WithAnswer query={query} what="what became of it">
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
            <Mark kind="none" label="discarded" /> {figure(discarded)} discarded: never folded, and kept.
          </p>
        )}
        {retry > 0 && (
          <p>
            {figure(retry)} of {figure(all)} wait for {consumer} …
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
            The owner of each partition folds a hundred a second. A partition that is behind, halted or without an owner
            retries nothing before it follows again: see Operations.
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
