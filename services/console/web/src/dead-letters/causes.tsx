import { Link } from '@tanstack/react-router'
import type { ConsumerOperations } from '../../../src/operations/api.ts'
import { EmptyCard } from '../parts/empty-card.tsx'
import { figure } from '../parts/figures.ts'
import { right, TableCard } from '../parts/table-card.tsx'
import { Time } from '../parts/time.tsx'
import { RunbookLink } from '../parts/with-links.tsx'

export interface DeadLetterCausesProps {
  readonly service: string
  readonly groups: NonNullable<ConsumerOperations['deadLetters']>
}

/** Dead letters of a consumer by cause. */
export function DeadLetterCauses({ service, groups }: DeadLetterCausesProps) {
  if (groups.length === 0)
    return (
      <EmptyCard title="Dead letters">
        {service} has none that wait for a decision. <DecidedLink service={service} />
      </EmptyCard>
    )
  return (
    <>
      <TableCard title="Dead letters" columns={['Cause', right('Dead'), right('To retry'), 'Records']}>
        {groups.map(({ cause, causeId, dead, toRetry, oldest, newest }) => (
          <tr key={causeId}>
            <th scope="row" className="value">
              <Link to="/operations/$consumer/dead-letters" params={{ consumer: service }} search={{ cause: causeId }}>
                {cause}
              </Link>
            </th>
            <td className="right num">{figure(dead)}</td>
            <td className="right num">{figure(toRetry)}</td>
            <td>
              <Time at={oldest} />
              {newest !== oldest && (
                <>
                  {' '}
                  to <Time at={newest} />
                </>
              )}
            </td>
          </tr>
        ))}
      </TableCard>
      <p className="quiet hint">
        A cause leads to its records, and to what can be done. <DecidedLink service={service} /> Runbook:{' '}
        <RunbookLink name="dead-letters" />
      </p>
    </>
  )
}

function DecidedLink({ service }: Pick<DeadLetterCausesProps, 'service'>) {
  return (
    <>
      Decided before:{' '}
      <Link to="/operations/$consumer/decided-letters" params={{ consumer: service }}>
        retried and discarded letters
      </Link>
      .
    </>
  )
}
