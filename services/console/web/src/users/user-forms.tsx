import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import type { FormLine, UserPath } from '../../../src/users/api.ts'
import { apiQuery } from '../app/api.ts'
import { Mark, type MarkKind } from '../components/mark.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { QUEUED_FORM_COLUMNS, QueuedFormCells } from '../components/queued-form.tsx'
import { TableCard } from '../components/table-card.tsx'
import { Time, WithTimes } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'

const ROUTE = '/users/$organization/$project/$userId'

/** Explains for each form why it was or was not queued, gate by gate. Then shows the user's queue. */
export function UserForms({ path }: { readonly path: UserPath }) {
  const query = useQuery(apiQuery('readUserForms', path))
  return (
    <WithAnswer query={query} name="the decisions on forms">
      {(answer) => <Decided {...answer} />}
    </WithAnswer>
  )
}

function Decided({ forms, queue }: Answer<'readUserForms'>) {
  if (forms.length === 0) return <EmptyNote>The project has no forms. Declare one in the workspace file.</EmptyNote>
  return (
    <>
      {forms.map((form) => (
        <FormCard key={form.formId} form={form} />
      ))}
      {queue.length > 0 && <Queue queue={queue} forms={forms} />}
    </>
  )
}

type Decision = NonNullable<FormLine['decision']>

const STATES = {
  waiting: { kind: 'good', label: 'waiting' },
  offered: { kind: 'good', label: 'offered' },
  answered: { kind: 'good', label: 'answered' },
  delivered: { kind: 'good', label: 'delivered' },
  queued: { kind: 'good', label: 'queued' },
  expired: { kind: 'none', label: 'expired' },
  cancelled: { kind: 'none', label: 'cancelled' },
  'not-queued': { kind: 'critical', label: 'not queued' },
  never: { kind: 'none', label: 'never evaluated' },
} as const satisfies Record<FormLine['state'], { kind: MarkKind; label: string }>

const PRESENCE = {
  workspace: null,
  removed: 'no longer in the workspace',
  'not-understood': 'of a later version, not understood',
  unknown: null,
} as const satisfies Record<FormLine['presence'], string | null>

const OUTCOMES = {
  passed: { kind: 'good', label: 'passed' },
  failed: { kind: 'critical', label: 'failed' },
  'not-checked': { kind: 'none', label: 'not checked' },
} as const satisfies Record<Decision['gates'][number]['outcome'], { kind: MarkKind; label: string }>

function FormCard({ form }: { readonly form: FormLine }) {
  const params = useParams({ from: ROUTE })
  const { formId, name, presence, state, summary, decision, waitsFor, missed } = form
  return (
    <article className="card form">
      <header>
        <Mark {...STATES[state]} />
        <h2>
          <Link to="/forms/$organization/$project/$formId" params={{ ...params, formId }}>
            {formId}
          </Link>
        </h2>
        {name && <span className="quiet">{name}</span>}
        {PRESENCE[presence] && <span className="pill">{PRESENCE[presence]}</span>}
      </header>
      <p>
        <WithTimes text={summary} />
      </p>
      {waitsFor.length > 0 && <WaitsFor {...form} />}
      {missed.map((sentence) => (
        <p key={sentence}>
          <WithTimes text={sentence} />
        </p>
      ))}
      {decision && <LastDecision formId={formId} summary={summary} decision={decision} />}
    </article>
  )
}

type LastDecisionProps = Pick<FormLine, 'formId' | 'summary'> & { readonly decision: Decision }

/** The last decision, gate by gate. It may have rejected the form while an earlier one waits or was shown. */
function LastDecision({ formId, summary, decision }: LastDecisionProps) {
  const params = useParams({ from: ROUTE })
  const { words, at, requestId, trigger, revision, gates } = decision
  return (
    <>
      {words !== summary && (
        <p>
          <WithTimes text={words} />
        </p>
      )}
      <p className="quiet">
        Decided <Time at={at} />
        {trigger && <>, by the trigger “{trigger}”</>}, under revision {revision}, for request{' '}
        <Link to={ROUTE} params={params} search={{ request: requestId }}>
          <code>{requestId}</code>
        </Link>
        .
      </p>
      {gates.length > 0 ? (
        <ol className="gates" aria-label={`Gates of ${formId}`}>
          {gates.map(({ gate, outcome, words: compared, withInstants }) => (
            <li key={gate} className={outcome}>
              <Mark {...OUTCOMES[outcome]} />
              <b>{gate}</b>
              <span>{withInstants ? <WithTimes text={compared} /> : compared}</span>
            </li>
          ))}
        </ol>
      ) : (
        <p className="quiet">The values that the gates compared were not stored with this decision.</p>
      )}
    </>
  )
}

/** The triggers that a form waits for, with the user's progress. */
function WaitsFor({ formId, waitsFor }: FormLine) {
  return (
    <ul className="waits-for" aria-label={`Triggers that ${formId} waits for`}>
      {waitsFor.map(({ trigger, soFar, count }, index) => (
        <li key={`${index}/${trigger}`}>
          Waits for: {trigger}
          {soFar !== null && (
            <b>
              {' '}
              ({soFar} of {count}
              {soFar >= count && '; the next one triggers it'})
            </b>
          )}
        </li>
      ))}
    </ul>
  )
}

function Queue({ queue, forms }: Answer<'readUserForms'>) {
  const names = new Map(forms.map(({ formId, name }) => [formId, name]))
  return (
    <TableCard title="Queue" columns={['Form', ...QUEUED_FORM_COLUMNS, 'Delivered', 'Answer']}>
      {queue.map((row) => (
        <tr key={row.queuedId}>
          <th scope="row">
            {row.formId} <small className="quiet">{names.get(row.formId)}</small>
          </th>
          <QueuedFormCells queued={row} />
          <td>{row.deliveredAt ? <Time at={row.deliveredAt} /> : '–'}</td>
          <td>
            <RowAnswer {...row} />
          </td>
        </tr>
      ))}
    </TableCard>
  )
}

/** State of the user's answer to a form, since when. The form's screen shows the answer itself. */
function RowAnswer({ answerStatus, startedAt, endedAt }: Answer<'readUserForms'>['queue'][number]) {
  const at = endedAt ?? startedAt
  if (answerStatus === null) return '–'
  return (
    <>
      {answerStatus} {at !== null && <Time at={at} />}
    </>
  )
}
