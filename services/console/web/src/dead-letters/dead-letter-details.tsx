import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import type { DeadLetter } from '@nextvisit/contracts'
import type { Answer } from '../../../src/api-routes.ts'
import { apiQuery } from '../app/api.ts'
import { NamedRow, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { Decide } from './decide.tsx'
import { DecisionCard } from './decision-card.tsx'
import { DECIDED_COLUMNS, DecidedRow, LastDecision, DeadLetterStateCell } from './dead-letter-cells.tsx'
import { DeadLetterContent } from './dead-letter-content.tsx'
import { DeadLettersHead } from './dead-letters-head.tsx'

const ROUTE = '/operations/$consumer/dead-letters/$id'

/** One dead letter: its position in the log, its cause, and the content of the record. */
export function DeadLetterDetails() {
  const { consumer, id } = useParams({ from: ROUTE })
  const { decision } = useSearch({ from: ROUTE })
  const path = { service: consumer, id }
  const query = useQuery(apiQuery('readDeadLetter', path))
  const { data } = query
  return (
    <>
      <DeadLettersHead consumer={consumer} title={`${consumer}/${id}`} {...(data && { causeId: data.causeId })}>
        {data && <DecideRecord letter={data} />}
      </DeadLettersHead>
      {decision !== undefined && <DecisionCard key={decision} decision={decision} />}
      <WithAnswer query={query} name="the dead letter">
        {(letter) => (
          <>
            <About letter={letter} />
            <SameRecord consumer={consumer} letter={letter} />
            <DeadLetterContent path={path} letter={letter} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

function About({ letter }: { readonly letter: Answer<'readDeadLetter'> }) {
  const { state, cause, topic, partition, offset, recordTime, deadAt, serviceVersion } = letter
  return (
    <TableCard title="Details">
      <NamedRow name="Cause" kind="value">
        {cause}
      </NamedRow>
      <NamedRow name="State">
        <DeadLetterStateCell state={state} />
      </NamedRow>
      <NamedRow name="Position in the log" kind="num">
        {topic}, partition {partition}, offset {offset}
      </NamedRow>
      <NamedRow name="Record time">
        <Time at={recordTime} />
      </NamedRow>
      <NamedRow name="Dead since">
        <Time at={deadAt} />
      </NamedRow>
      <NamedRow name="Last tried by">version {serviceVersion} of the consumer</NamedRow>
      <NamedRow name="Last decision">
        <LastDecision {...letter} />
      </NamedRow>
    </TableCard>
  )
}

/** The letters of the same record in each consumer. */
function useLettersOfRecord({ topic, partition, offset }: DeadLetter) {
  return useQuery(apiQuery('readDeadLettersOfRecord', { topic, partition, offset }))
}

/** One decision about the record, in each consumer that has it as a dead letter, or that does not answer. */
function DecideRecord({ letter }: { readonly letter: DeadLetter }) {
  const { topic, partition, offset } = letter
  const { data } = useLettersOfRecord(letter)
  const undecided = (data?.consumers ?? []).filter((one) => !one.isAnswering || one.letter?.state === 'dead')
  if (!undecided.some((one) => one.letter)) return null
  const selected = { by: 'records' as const, records: [{ topic, partition, offset }] }
  return <Decide selections={undecided.map(({ service }) => ({ service, selected }))} count={1} atOnce={1} />
}

/** State of the record in the other consumers. Each has its own letter. */
function SameRecord({ consumer, letter }: { readonly consumer: string; readonly letter: DeadLetter }) {
  const query = useLettersOfRecord(letter)
  return (
    <WithAnswer query={query} name="the same record in other consumers">
      {({ consumers }) => (
        <TableCard title="The same record in other consumers" columns={DECIDED_COLUMNS}>
          {consumers
            .filter(({ service }) => service !== consumer)
            .map((other) => (
              <Other key={other.service} other={other} />
            ))}
        </TableCard>
      )}
    </WithAnswer>
  )
}

function Other({
  other: { service, isAnswering, letter },
}: {
  readonly other: Answer<'readDeadLettersOfRecord'>['consumers'][number]
}) {
  if (letter) return <DecidedRow consumer={service} letter={letter} />
  return (
    <tr>
      <th scope="row">{service}</th>
      <td colSpan={3}>{isAnswering ? 'no letter: it read the record, or has not reached it' : 'does not answer'}</td>
    </tr>
  )
}
