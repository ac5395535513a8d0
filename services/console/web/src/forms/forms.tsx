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
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { type ChosenProject, ProjectSelect, WithProject } from '../components/with-project.tsx'
import { FormState, openCount } from './form-state.tsx'
import { PeriodNote, PeriodSwitch } from './period.tsx'

/** The forms of a project: counts of each step, the most frequent gate, and the number of waiting users. */
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
  const { hours, find = '', page = 1 } = useSearch({ from: '/forms' })
  const query = useQuery(pageQuery('listForms', { ...project.path, hours: hours === 1 ? '1' : '24', find, page }))
  return (
    <>
      <search className="filters">
        <ProjectSelect
          {...project}
          onChoose={(name) => void navigate({ to: '/forms', search: { project: name, hours } })}
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
        <PeriodSwitch hours={hours} />
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

function List({ answer: { forms, found, total, pageSize, period }, project, find, page }: ListProps) {
  if (forms.length === 0)
    return (
      <EmptyList title="Forms" things="forms" total={total}>
        {found === 0 ? `No form of the project has “${find}” in its id or name.` : undefined}
      </EmptyList>
    )
  return (
    <>
      <PeriodNote period={period} />
      <TableCard
        title={`Forms of ${project.name}`}
        columns={[
          'Form',
          right('Matched'),
          right('Queued'),
          right('Delivered'),
          right('Expired'),
          'Top gate',
          right('Waiting now'),
          'Oldest since',
        ]}
      >
        {forms.map((form) => (
          <Row key={form.formId} form={form} project={project} />
        ))}
      </TableCard>
      <Pages page={page} hasNext={page * pageSize < found} total={`${found} forms`} />
    </>
  )
}

function Row({ form, project }: { readonly form: FormSummary; readonly project: ChosenProject }) {
  const { formId, name, state, figures, open } = form
  const { hours } = useSearch({ from: '/forms' })
  const [worst] = figures.stopped
  return (
    <tr>
      <th scope="row">
        <Link to="/forms/$organization/$project/$formId" params={{ ...project.path, formId }} search={{ hours }}>
          {formId}
        </Link>{' '}
        <FormState state={state} />
        {name && <p className="quiet">{name}</p>}
      </th>
      <td className="right num">{figure(figures.matched)}</td>
      <td className="right num">{figure(figures.queued)}</td>
      <td className="right num">{figure(figures.delivered)}</td>
      <td className="right num">{figure(figures.expired)}</td>
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
      <td>{open.oldestAt ? <Time at={open.oldestAt} /> : '–'}</td>
    </tr>
  )
}
