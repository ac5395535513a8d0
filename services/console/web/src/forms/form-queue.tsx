import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { Fragment } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import type { FormPath } from '../../../src/forms/api.ts'
import { pageQuery } from '../app/api.ts'
import { figure } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { percent } from './percent.ts'
import { PeriodNote, PeriodSwitch } from './period.tsx'
import { Share } from './share.tsx'
import { Waiting } from './waiting.tsx'

interface FormQueueProps {
  readonly path: FormPath
  readonly form: Answer<'readForm'>
}

/** The rules of a form, the gates that stopped it, and the users that it waits for. */
export function FormQueue({ path, form }: FormQueueProps) {
  const { hours, after } = useSearch({ from: '/forms/$organization/$project/$formId' })
  const query = useQuery(pageQuery('readFormQueue', { ...path, hours: hours === 1 ? '1' : '24', after }))
  return (
    <>
      <Settings form={form} />
      <WithAnswer query={query} name="the queue">
        {(queue) => (
          <>
            <div className="filters">
              <PeriodNote period={queue.period} />
              <PeriodSwitch hours={hours} />
            </div>
            <Gates stopped={queue.stopped} />
            <Waiting form={queue} path={path} after={after} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

/** Settings of the workspace file that explain the figures. */
function Settings({
  form: { state, triggers, audience, startsAt, endsAt, settings },
}: {
  readonly form: Answer<'readForm'>
}) {
  if (state === 'gone')
    return (
      <p className="note">The workspace does not contain this form. If it was removed, waiting forms were cancelled.</p>
    )
  return (
    <dl className="settings">
      <dt>Triggers</dt>
      <dd>{triggers.length === 0 ? 'none, so nothing queues this form' : triggers.join(', or ')}</dd>
      <dt>Audience</dt>
      <dd>{audience ?? 'all users'}</dd>
      {(startsAt ?? endsAt) !== null && (
        <>
          <dt>Live</dt>
          <dd>
            {startsAt && (
              <>
                from <Time at={startsAt} />{' '}
              </>
            )}
            {endsAt && (
              <>
                until <Time at={endsAt} />
              </>
            )}
          </dd>
        </>
      )}
      {settings.map(({ name, words }) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{words}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

function Gates({ stopped }: Pick<Answer<'readFormQueue'>, 'stopped'>) {
  if (stopped.length === 0)
    return (
      <EmptyCard title="Gates that stopped it">
        None in this period: every gate passed whenever a trigger matched, or no trigger matched.
      </EmptyCard>
    )
  const all = stopped.reduce((sum, { count }) => sum + count, 0)
  return (
    <TableCard title="Gates that stopped it" columns={['Reason', right('Times'), right('Share')]}>
      {stopped.map(({ reason, words, count }) => (
        <tr key={reason}>
          <th scope="row">
            {reason}
            <p className="quiet">{words}</p>
            <Share value={count} of={all} kind="off" />
          </th>
          <td className="right num">{figure(count)}</td>
          <td className="right num">{percent(count, all)}</td>
        </tr>
      ))}
    </TableCard>
  )
}
