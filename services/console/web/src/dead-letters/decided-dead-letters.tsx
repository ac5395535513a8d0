import { useQuery } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { apiQuery } from '../app/use-api.ts'
import { EmptyNote } from '../parts/notes.tsx'
import { CursorPages } from '../parts/pages.tsx'
import { TableCard } from '../parts/table-card.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { DECIDED_COLUMNS, DecidedRow } from './dead-letter-cells.tsx'
import { DeadLettersHead } from './dead-letters-head.tsx'

const ROUTE = '/operations/$consumer/decided-letters'

/** The retried and discarded letters of a consumer, which are kept for good. */
export function DecidedDeadLetters() {
  const { consumer } = useParams({ from: ROUTE })
  const { after } = useSearch({ from: ROUTE })
  const query = useQuery(apiQuery('listDecidedLetters', { service: consumer, after }))
  return (
    <>
      <DeadLettersHead consumer={consumer} title="Retried and discarded letters" />
      <WithAnswer query={query} what="the letters">
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
