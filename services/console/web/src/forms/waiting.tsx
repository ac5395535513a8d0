import type { ProjectRef } from '@nextvisit/contracts'
import { Link } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import { EmptyCard } from '../components/notes.tsx'
import { CursorPages } from '../components/pages.tsx'
import { QUEUED_FORM_COLUMNS, QueuedFormCells } from '../components/queued-form.tsx'
import { TableCard } from '../components/table-card.tsx'
import { openCount } from './form-state.tsx'

interface WaitingProps {
  readonly form: Pick<Answer<'readFormQueue'>, 'open' | 'rows' | 'next'>
  readonly path: ProjectRef
  readonly after: string | undefined
}

/** Pages of the users that the form waits for, oldest first. */
export function Waiting({ form: { open, rows, next }, path: { organization, project }, after }: WaitingProps) {
  const title = open.count === 0 ? 'Waiting now' : `Waiting now: ${openCount(open)}`
  if (rows.length === 0)
    return (
      <>
        <EmptyCard title={title}>
          {after === undefined
            ? 'The form is not waiting for any user. It waits from the time when a trigger matches and every gate passes until the next visit of the user.'
            : 'No users are left on this page: they have visited, or their form has expired.'}
        </EmptyCard>
        <CursorPages after={after} next={next} />
      </>
    )
  return (
    <>
      <TableCard title={title} columns={['User', ...QUEUED_FORM_COLUMNS]}>
        {rows.map((row) => (
          <tr key={row.queuedId}>
            <th scope="row">
              <Link
                to="/users/$organization/$project/$userId"
                params={{ organization, project, userId: row.userId }}
                search={{ tab: 'forms' }}
                className={row.userName === null ? 'mono' : undefined}
              >
                {row.userName ?? row.userId}
              </Link>
              {row.userName !== null && <small className="quiet mono"> {row.userId}</small>}
            </th>
            <QueuedFormCells queued={row} />
          </tr>
        ))}
      </TableCard>
      <CursorPages after={after} next={next} />
    </>
  )
}
