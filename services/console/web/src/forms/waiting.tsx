import { Link } from '@tanstack/react-router'
import type { FormAnswer } from '../../../src/forms/api.ts'
import { CursorPages } from '../parts/cursor-pages.tsx'
import { EmptyCard } from '../parts/empty-card.tsx'
import { QUEUED_FORM_COLUMNS, QueuedFormCells } from '../parts/queued-form.tsx'
import { TableCard } from '../parts/table-card.tsx'
import { openCount } from './form-state.tsx'

export interface WaitingProps {
  readonly form: Pick<FormAnswer, 'open' | 'rows' | 'next'>
  readonly organization: string
  readonly project: string
  readonly after: string | undefined
}

/** Whom the form waits for, the oldest first, a page at a time. */
export function Waiting({ form: { open, rows, next }, organization, project, after }: WaitingProps) {
  const title = open.count === 0 ? 'Waiting now' : `Waiting now: ${openCount(open)}`
  if (rows.length === 0)
    return (
      <>
        <EmptyCard title={title}>
          {after === undefined
            ? 'The form waits for nobody. It waits once a trigger has matched and every gate has passed, until the user visits.'
            : 'Nobody is left on this page: they have visited since, or their form has expired.'}
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
