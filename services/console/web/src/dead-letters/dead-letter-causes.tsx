import { Link } from '@tanstack/react-router'
import type { ConsumerOperations } from '../../../src/operations/api.ts'
import { figure } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { RunbookLink } from '../components/with-links.tsx'

interface DeadLetterCausesProps {
  readonly service: string
  readonly groups: NonNullable<ConsumerOperations['deadLetters']>
}

/** Table of the dead letters of a consumer by cause. */
export function DeadLetterCauses({ service, groups }: DeadLetterCausesProps) {
  if (groups.length === 0)
    return (
      <EmptyCard title="Dead letters">
        No dead letter of {service} is waiting for a decision. <DecidedLink service={service} />
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
        Open a cause to see its records, and to retry or discard them. <DecidedLink service={service} /> Runbook:{' '}
        <RunbookLink name="dead-letters" />
      </p>
    </>
  )
}

function DecidedLink({ service }: Pick<DeadLetterCausesProps, 'service'>) {
  return (
    <>
      See also:{' '}
      <Link to="/operations/$consumer/decided-letters" params={{ consumer: service }}>
        retried and discarded letters
      </Link>
      .
    </>
  )
}
