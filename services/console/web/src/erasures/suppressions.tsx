import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import { apiQuery, RELOAD_AFTER_MS, useChange } from '../app/api.ts'
import { ActionDialog } from '../components/action-dialog.tsx'
import { EmptyCard } from '../components/notes.tsx'
import { TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { UserNameField } from '../components/user-name-field.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import type { ChosenProject } from '../components/with-project.tsx'

interface SuppressionsProps {
  readonly project: ChosenProject
  readonly isOperator: boolean
}

/** The suppressed users of a project, as hashes. Operators lift a suppression by the userName. */
export function Suppressions({ project, isOperator }: SuppressionsProps) {
  const [after, setAfter] = useState<string>()
  const query = useQuery({
    ...apiQuery('listSuppressions', { ...project.path, after }),
    refetchInterval: RELOAD_AFTER_MS,
  })
  return (
    <>
      <WithAnswer query={query} name="the suppressions">
        {(answer) => (
          <>
            <List answer={answer} project={project} />
            {(after !== undefined || answer.next !== null) && (
              <nav aria-label="Pages of suppressions" className="pages">
                <button type="button" disabled={after === undefined} onClick={() => setAfter(undefined)}>
                  First page
                </button>
                <button
                  type="button"
                  disabled={answer.next === null}
                  onClick={() => setAfter(answer.next ?? undefined)}
                >
                  Next page
                </button>
              </nav>
            )}
          </>
        )}
      </WithAnswer>
      {isOperator && <Lift project={project} />}
    </>
  )
}

function List({
  answer: { suppressions },
  project,
}: {
  readonly answer: Answer<'listSuppressions'>
  readonly project: ChosenProject
}) {
  if (suppressions.length === 0)
    return <EmptyCard title="Suppressions">No user of this project is suppressed.</EmptyCard>
  return (
    <TableCard title={`Suppressions of ${project.name}`} columns={['Hash of the user', 'Since', 'Erasure']}>
      {suppressions.map(({ hash, since, erasureId }) => (
        <tr key={hash}>
          <th scope="row" className="value">
            <code>{hash}</code>
          </th>
          <td>
            <Time at={since} />
          </td>
          <td>
            <Link to="/erasures/$organization/$project/$erasureId" params={{ ...project.path, erasureId }}>
              {erasureId}
            </Link>
          </td>
        </tr>
      ))}
    </TableCard>
  )
}

function Lift({ project }: { readonly project: ChosenProject }) {
  const userName = useRef<HTMLInputElement>(null)
  const lift = useChange('liftSuppression', 'listSuppressions')
  const onConfirm = () => lift.mutateAsync({ ...project.path, userName: userName.current?.value ?? '' })
  return (
    <div className="toolbar">
      <output className="quiet">{lift.isSuccess && 'The suppression is lifted.'}</output>
      <ActionDialog label="Lift a suppression" action="Lift the suppression" onOpen={lift.reset} onConfirm={onConfirm}>
        <p>
          The person may be identified again, as a new user. Nothing that was erased comes back. The list contains
          hashes, so type the userName.
        </p>
        <UserNameField label="userName" ref={userName} />
      </ActionDialog>
    </div>
  )
}
