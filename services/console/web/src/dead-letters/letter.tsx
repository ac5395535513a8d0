import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import type { LetterAnswer } from '../../../src/dead-letters/api.ts'
import { apiQuery } from '../app/use-api.ts'
import { NamedRow } from '../parts/named-row.tsx'
import { TableCard } from '../parts/table-card.tsx'
import { Time } from '../parts/time.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { Decide } from './decide.tsx'
import { DecisionCard } from './decision-card.tsx'
import { LetterContent } from './letter-content.tsx'
import { LastDecision, LetterState } from './letter-state.tsx'
import { LettersHead } from './letters-head.tsx'
import { SameRecord } from './same-record.tsx'

const ROUTE = '/operations/$consumer/dead-letters/$id'

/** One dead letter: where it is in the log, what is wrong with it, what the record holds. */
export function Letter() {
  const { consumer, id } = useParams({ from: ROUTE })
  const { decision } = useSearch({ from: ROUTE })
  const path = { service: consumer, id }
  const query = useQuery(apiQuery('readDeadLetter', path))
  const { data } = query
  return (
    <>
      <LettersHead consumer={consumer} title={`${consumer}/${id}`} {...(data && { causeId: data.causeId })}>
        {data?.state === 'dead' && (
          <Decide consumer={consumer} selected={{ by: 'ids', ids: [id] }} count={1} atOnce={1} />
        )}
      </LettersHead>
      {decision !== undefined && <DecisionCard key={decision} consumer={consumer} decidedAt={decision} />}
      <WithAnswer query={query} what="the dead letter">
        {(letter) => (
          <>
            <About letter={letter} />
            <SameRecord consumer={consumer} letter={letter} />
            <LetterContent path={path} letter={letter} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

function About({ letter }: { readonly letter: LetterAnswer }) {
  const { state, cause, topic, partition, offset, recordTime, deadAt, serviceVersion } = letter
  return (
    <TableCard title="What happened">
      <NamedRow name="Cause" kind="value">
        {cause}
      </NamedRow>
      <NamedRow name="State">
        <LetterState state={state} />
      </NamedRow>
      <NamedRow name="In the log" kind="num">
        {topic}, partition {partition}, offset {offset}
      </NamedRow>
      <NamedRow name="Record time">
        <Time at={recordTime} />
      </NamedRow>
      <NamedRow name="Dead since">
        <Time at={deadAt} />
      </NamedRow>
      <NamedRow name="Tried last by">version {serviceVersion} of the consumer</NamedRow>
      <NamedRow name="Last decision">
        <LastDecision {...letter} />
      </NamedRow>
    </TableCard>
  )
}
