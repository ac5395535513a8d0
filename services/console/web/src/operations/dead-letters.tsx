import type { ConsumerOperations } from '../../../src/api/operations.ts'
import { figure } from '../parts/figures.ts'
import { EmptyCard } from '../parts/empty-card.tsx'
import { TableCard } from '../parts/table-card.tsx'
import { Time } from '../parts/time.tsx'

export interface DeadLettersProps {
  readonly service: string
  readonly groups: NonNullable<ConsumerOperations['deadLetters']>
}

/** Dead letters by cause, with the command that shows one. */
export function DeadLetters({ service, groups }: DeadLettersProps) {
  if (groups.length === 0)
    return <EmptyCard title="Dead letters">There are none: {service} could read every record.</EmptyCard>
  return (
    <>
      <TableCard title="Dead letters">
        <thead>
          <tr>
            <th scope="col">Cause</th>
            <th scope="col" className="right">
              Dead
            </th>
            <th scope="col" className="right">
              To retry
            </th>
            <th scope="col">Oldest record</th>
            <th scope="col">Newest record</th>
            <th scope="col">Look at one</th>
          </tr>
        </thead>
        <tbody>
          {groups.map(({ cause, dead, toRetry, oldest, newest, example }) => (
            <tr key={cause}>
              <th scope="row">{cause}</th>
              <td className="right num">{figure(dead)}</td>
              <td className="right num">{figure(toRetry)}</td>
              <td>
                <Time at={oldest} />
              </td>
              <td>
                <Time at={newest} />
              </td>
              <td>
                <code>
                  nextvisit dead-letters show {service}/{example}
                </code>
              </td>
            </tr>
          ))}
        </tbody>
      </TableCard>
      <p className="quiet hint">
        docs/runbooks/dead-letters.md says how to retry or discard them: nextvisit dead-letters retry --service{' '}
        {service}
      </p>
    </>
  )
}
