import * as Tabs from '@radix-ui/react-tabs'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { pageQuery } from '../app/api.ts'
import { WithAnswer } from '../components/with-answer.tsx'
import { ProjectCrumbs } from '../components/with-project.tsx'
import { Answers } from './answers.tsx'
import { FormQueue } from './form-queue.tsx'
import { FormState } from './form-state.tsx'
import { Preview } from './preview.tsx'
import { Results } from './results.tsx'

const ROUTE = '/forms/$organization/$project/$formId'
const TABS = [
  { tab: 'results', label: 'Results' },
  { tab: 'answers', label: 'Answers' },
  { tab: 'queue', label: 'Gates and queue' },
  { tab: 'preview', label: 'Preview' },
] as const

/** One form. Each tab loads separately, so a silent service affects only its own. */
export function Form() {
  const path = useParams({ from: ROUTE })
  const { organization, project, formId } = path
  const { tab = 'results', environment } = useSearch({ from: ROUTE })
  const navigate = useNavigate()
  const query = useQuery(pageQuery('readForm', path))
  const { data } = query
  return (
    <>
      <ProjectCrumbs path={path}>
        <Link to="/forms" search={{ project: `${organization}/${project}`, environment }}>
          Forms
        </Link>
      </ProjectCrumbs>
      <header className="page-head">
        <h1>{formId}</h1>
        {data && <FormState state={data.state} />}
        {data?.name && <p className="quiet">{data.name}</p>}
      </header>
      <WithAnswer query={query} name="the form">
        {(form) => (
          <Tabs.Root
            value={tab}
            onValueChange={(next) =>
              void navigate({
                to: '.',
                replace: true,
                search: (now) => ({ ...now, tab: TABS.find((one) => one.tab === next)?.tab, after: undefined }),
              })
            }
          >
            <Tabs.List className="tabs" aria-label="About this form">
              {TABS.map((one) => (
                <Tabs.Trigger key={one.tab} value={one.tab}>
                  {one.label}
                </Tabs.Trigger>
              ))}
            </Tabs.List>
            <Tabs.Content value="results">
              <Results path={path} />
            </Tabs.Content>
            <Tabs.Content value="answers">
              <Answers path={path} />
            </Tabs.Content>
            <Tabs.Content value="queue">
              <FormQueue path={path} form={form} />
            </Tabs.Content>
            <Tabs.Content value="preview">
              <Preview path={path} />
            </Tabs.Content>
          </Tabs.Root>
        )}
      </WithAnswer>
    </>
  )
}
