import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import type { DecidedLettersAnswer } from '../../../src/api/dead-letters.ts'
import { getFrom } from '../app/call-api.ts'
import { CursorPages } from '../parts/cursor-pages.tsx'
import { EmptyNote } from '../parts/notes.tsx'
import { TableCard } from '../parts/table-card.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { LastDecision, LetterState } from './letter-state.tsx'
import { LettersHead } from './letters-head.tsx'

const ROUTE = '/operations/$consumer/decided-letters'

/** The letters of a consumer that somebody has retried or discarded. They are kept for good. */
export function DecidedLetters() {
  const { consumer } = useParams({ from: ROUTE })
  const { after } = useSearch({ from: ROUTE })
  const query = useQuery({
    queryKey: ['dead-letters', consumer, 'decided', after],
    queryFn: () =>
      getFrom<DecidedLettersAnswer>(
        `decided-letters/${consumer}${after === undefined ? '' : `?after=${encodeURIComponent(after)}`}`,
      ),
  })
  return (
    <>
      <LettersHead consumer={consumer} title="Retried and discarded letters" />
      <WithAnswer query={query} what="the letters">
        {({ letters, next }) =>
          letters.length === 0 ? (
            <EmptyNote>Nobody has retried or discarded a dead letter of {consumer} yet.</EmptyNote>
          ) : (
            <>
              <TableCard title="Letters, the last decision first" columns={['Letter', 'State', 'Decision', 'Cause']}>
                {letters.map(({ id, cause, ...letter }) => (
                  <tr key={id}>
                    <th scope="row">
                      <Link to="/operations/$consumer/dead-letters/$id" params={{ consumer, id }}>
                        {consumer}/{id}
                      </Link>
                    </th>
                    <td>
                      <LetterState state={letter.state} />
                    </td>
                    <td>
                      <LastDecision {...letter} />
                    </td>
                    <td className="value">{cause}</td>
                  </tr>
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
