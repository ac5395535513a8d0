import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import type { AnsweredOffer, FormPath } from '../../../src/forms/api.ts'
import { pageQuery } from '../app/api.ts'
import { EmptyCard } from '../components/notes.tsx'
import { CursorPages } from '../components/pages.tsx'
import { Reveal } from '../components/reveal.tsx'
import { TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { EnvironmentSwitch } from './environment-switch.tsx'
import { nameOfLanguage } from './name-of-language.ts'
import { sameEnvironment } from './same-environment.ts'

/** The answers to each offer of a form, newest first. Viewers ask for personal data. */
export function Answers({ path }: { readonly path: FormPath }) {
  const { environment, after } = useSearch({ from: '/forms/$organization/$project/$formId' })
  const input = { ...path, environment: environment ?? ('P' as const), after }
  const query = useQuery({
    ...pageQuery('readFormAnswers', input),
    placeholderData: sameEnvironment(input.environment),
  })
  return (
    <>
      <div className="filters results">
        <EnvironmentSwitch environment={environment} />
        {query.data?.isMasked && <Reveal name="revealFormAnswers" input={path} />}
        {query.data?.isStale && (
          <p className="quiet source">The answer collector lags, so the latest answers may be missing.</p>
        )}
      </div>
      <WithAnswer query={query} name="the answers">
        {(page) => <Page page={page} path={path} after={after} />}
      </WithAnswer>
    </>
  )
}

interface PageProps {
  readonly page: Answer<'readFormAnswers'>
  readonly path: FormPath
  readonly after: string | undefined
}

function Page({ page: { answers, leftOut, next }, path, after }: PageProps) {
  return (
    <>
      {leftOut > 0 && (
        <p className="quiet source">
          {leftOut === 1 ? 'An answer of an erased user is' : `${leftOut} answers of erased users are`} left out: the
          answer collector has not deleted {leftOut === 1 ? 'it' : 'them'} yet.
        </p>
      )}
      {answers.length === 0 && leftOut === 0 ? (
        <EmptyCard title="Answers">
          {after === undefined
            ? 'No answers are kept. An answer appears here with the first question that a user answers, until the user is erased.'
            : 'There are no older answers.'}
        </EmptyCard>
      ) : (
        <TableCard title="Answers" columns={['User', 'Started', 'Status', 'Answers']}>
          {answers.map((answer) => (
            <Row key={answer.answerId} answer={answer} path={path} />
          ))}
        </TableCard>
      )}
      <CursorPages after={after} next={next} />
    </>
  )
}

interface RowProps {
  readonly answer: AnsweredOffer
  readonly path: FormPath
}

function Row({ answer, path: { organization, project } }: RowProps) {
  const { userId, userName, startedAt, endedAt, status, revision, language, causeId, answers } = answer
  return (
    <tr>
      <th scope="row">
        <Link
          to="/users/$organization/$project/$userId"
          params={{ organization, project, userId }}
          search={{ request: causeId }}
          className={userName === null ? 'mono' : undefined}
        >
          {userName ?? userId}
        </Link>
      </th>
      <td>
        <Time at={startedAt} />
        {endedAt !== null && (
          <p className="quiet">
            {status} <Time at={endedAt} withDate={false} />
          </p>
        )}
      </td>
      <td>
        <span className={`pill ${STATUS_PILLS[status]}`}>{status}</span>
        <p className="quiet unbroken">
          revision {revision}
          {language !== null && `, ${nameOfLanguage(language)}`}
        </p>
      </td>
      <td className="value">
        <dl className="answers">
          {answers.map(({ id, label, words, isCut }) => (
            <div key={id}>
              <dt>{label ?? id}</dt>
              <dd>
                {words}
                {isCut && <small className="quiet"> … (the export has the whole text)</small>}
              </dd>
            </div>
          ))}
        </dl>
      </td>
    </tr>
  )
}

/** Colours of the states. The text names them, too. */
const STATUS_PILLS = {
  partial: 'waiting',
  finished: 'delivered',
  dismissed: 'expired',
} as const satisfies Record<AnsweredOffer['status'], string>
