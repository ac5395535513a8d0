import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { apiQuery } from '../app/api.ts'
import { EmptyNote } from '../components/notes.tsx'
import { CursorPages } from '../components/pages.tsx'
import { TableCard } from '../components/table-card.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { DECIDED_COLUMNS, DecidedRow } from './dead-letter-cells.tsx'
import { DeadLettersHead } from './dead-letters-head.tsx'

const ROUTE = '/operations/$consumer/decided-letters'

/** The retried and discarded letters of a consumer, which are kept for good. */
export function DecidedDeadLetters() {
  const { consumer } = useParams({ from: ROUTE })
  const { after } = useSearch({ from: ROUTE })
  const query = useQuery(apiQuery('listDecidedDeadLetters', { service: consumer, after }))
  return (
    <>
      <DeadLettersHead consumer={consumer} title="Retried and discarded letters" />
      <WithAnswer query={query} name="the letters">
        {({ letters, next }) =>
          letters.length === 0 ? (
            <EmptyNote>No dead letter of {consumer} has been retried or discarded yet.</EmptyNote>
          ) : (
            <>
              <TableCard title="Letters, latest decision first" columns={DECIDED_COLUMNS}>
                {letters.map((letter) => (
                  <DecidedRow key={letter.id} consumer={consumer} letter={letter} />
                ))}
              </TableCard>
              <CursorPages after={after} next={next} />
            </>
          )
        }
      </WithAnswer>
    </>
  )
}
