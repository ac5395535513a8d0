import { Link } from '@tanstack/react-router'
import type { FormAnswer } from '../../../src/forms/api.ts'
import { EmptyCard } from '../parts/notes.tsx'
import { CursorPages } from '../parts/pages.tsx'
import { QUEUED_FORM_COLUMNS, QueuedFormCells } from '../parts/queued-form.tsx'
import { TableCard } from '../parts/table-card.tsx'
import { openCount } from './form-state.tsx'

interface WaitingProps {
  readonly form: Pick<FormAnswer, 'open' | 'rows' | 'next'>
  readonly organization: string
  readonly project: string
  readonly after: string | undefined
}

/** Pages of the users that the form waits for, oldest first. */
export function Waiting({ form: { open, rows, next }, organization, project, after }: WaitingProps) {
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
                className="mono"
              >
                {row.userId}
              </Link>
            </th>
            <QueuedFormCells queued={row} />
          </tr>
        ))}
      </TableCard>
      <CursorPages after={after} next={next} />
    </>
  )
}
