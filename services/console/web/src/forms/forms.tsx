import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import type { FormSummary } from '../../../src/forms/api.ts'
import { MAX_SEARCH_CHARACTERS, unitsOf } from '../../../src/shared-with-pages.ts'
import { pageQuery } from '../app/api.ts'
import { figure } from '../components/figures.ts'
import { EmptyList } from '../components/notes.tsx'
import { Pages } from '../components/pages.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { type ChosenProject, ProjectSelect, WithProject } from '../components/with-project.tsx'
import { FormState, openCount } from './form-state.tsx'
import { EnvironmentSwitch } from './environment-switch.tsx'
import { ratio } from './percent.ts'
import { PeriodNote } from './period.tsx'
import { sameEnvironment } from './same-environment.ts'

/** The forms of a project: the funnel of each, the most frequent gate, and the number of waiting users. */
export function Forms() {
  const { project: chosen } = useSearch({ from: '/forms' })
  return (
    <>
      <header className="page-head">
        <h1>Forms</h1>
        <p className="quiet">When a trigger matches and all gates pass, a form waits for the user's next visit.</p>
        <Link to="/forms/simulation">Simulate an edited workspace file</Link>
      </header>
      <WithProject chosen={chosen}>{(project) => <ProjectForms key={project.name} project={project} />}</WithProject>
    </>
  )
}

function ProjectForms({ project }: { readonly project: ChosenProject }) {
  const navigate = useNavigate()
  const { environment, find = '', page = 1 } = useSearch({ from: '/forms' })
  const query = useQuery({
    ...pageQuery('listForms', { ...project.path, environment, find, page }),
    placeholderData: sameEnvironment(environment),
  })
  return (
    <>
      <search className="card filters">
        <ProjectSelect
          {...project}
          onChoose={(name) => void navigate({ to: '/forms', search: { project: name, environment } })}
        />
        <label>
          Form
          <input
            type="search"
            maxLength={unitsOf(MAX_SEARCH_CHARACTERS)}
            autoComplete="off"
            spellCheck={false}
            placeholder="part of the id or name"
            value={find}
            onChange={(event) =>
              void navigate({
                to: '/forms',
                replace: true,
                search: (now) => ({ ...now, find: event.target.value || undefined, page: undefined }),
              })
            }
          />
        </label>
        <EnvironmentSwitch environment={environment} />
      </search>
      <WithAnswer query={query} name="the forms">
        {(answer) => <List answer={answer} project={project} find={find} page={page} />}
      </WithAnswer>
    </>
  )
}

interface ListProps {
  readonly answer: Answer<'listForms'>
  readonly project: ChosenProject
  readonly find: string
  readonly page: number
}

function List({ answer: { forms, found, total, pageSize, period, isStale }, project, find, page }: ListProps) {
  if (forms.length === 0)
    return (
      <EmptyList title="Forms" things="forms" total={total}>
        {found === 0 ? `No form of the project has “${find}” in its id or name.` : undefined}
      </EmptyList>
    )
  return (
    <>
      {isStale && <p className="note">The answer collector lags, so the latest steps may be missing.</p>}
      <TableCard
        title={`Forms of ${project.name}`}
        columns={[
          'Form',
          right('Queued'),
          right('Delivered'),
          right('Started'),
          right('Finished'),
          right('Response rate'),
          'Top reason, 24 hours',
          right('Waiting now'),
        ]}
      >
        {forms.map((form) => (
          <Row key={form.formId} form={form} project={project} />
        ))}
      </TableCard>
      <p className="quiet source">Steps are counted over all days.</p>
      <PeriodNote period={period} />
      <Pages page={page} hasNext={page * pageSize < found} total={`${found} forms`} />
    </>
  )
}

function Row({ form, project }: { readonly form: FormSummary; readonly project: ChosenProject }) {
  const { formId, name, state, funnel, responseRate, stopped, open } = form
  const { environment } = useSearch({ from: '/forms' })
  const [worst] = stopped
  return (
    <tr>
      <th scope="row">
        <Link to="/forms/$organization/$project/$formId" params={{ ...project.path, formId }} search={{ environment }}>
          {formId}
        </Link>{' '}
        <FormState state={state} />
        {name && <p className="quiet">{name}</p>}
      </th>
      <td className="right num">{figure(funnel.queued)}</td>
      <td className="right num">{figure(funnel.delivered)}</td>
      <td className="right num">{figure(funnel.started)}</td>
      <td className="right num">{figure(funnel.finished)}</td>
      <td className="right num">{ratio(responseRate)}</td>
      <td>
        {worst ? (
          <>
            {worst.reason} <span className="quiet num">{figure(worst.count)}</span>
          </>
        ) : (
          '–'
        )}
      </td>
      <td className="right num">{openCount(open)}</td>
    </tr>
  )
}
