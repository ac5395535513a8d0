import { useQuery } from '@tanstack/react-query'
import type { LetterLine, LettersOfRecord } from '../../../src/dead-letters/api.ts'
import { apiQuery } from '../app/use-api.ts'
import { TableCard } from '../parts/table-card.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { DECIDED_COLUMNS, DecidedRow } from './decided-row.tsx'

export interface SameRecordProps {
  readonly consumer: string
  readonly letter: LetterLine
}

/** What the other consumers made of the record. Each keeps a letter of its own, which is decided separately. */
export function SameRecord({ consumer, letter: { topic, partition, offset } }: SameRecordProps) {
  const query = useQuery(apiQuery('readRecordLetters', { topic, partition, offset }))
  return (
    <WithAnswer query={query} what="what other consumers made of the record">
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

function Other({ other: { service, isAnswering, letter } }: { readonly other: LettersOfRecord['consumers'][number] }) {
  if (!letter)
    return (
      <tr>
        <th scope="row">{service}</th>
        <td colSpan={3}>
          {isAnswering ? 'no letter: it could read the record, or has not come to it' : 'does not answer'}
        </td>
      </tr>
    )
  return <DecidedRow consumer={service} letter={letter} />
}
