import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import type { FormPath } from '../../../src/forms/api.ts'
import { apiQuery, RELOAD_AFTER_MS } from '../app/api.ts'
import type { FormSearch } from '../app/form-search.ts'
import { figure, seconds } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { Switch, type SwitchProps } from '../components/switch.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { ElementCard } from './element-card.tsx'
import { EnvironmentSwitch } from './environment-switch.tsx'
import { Funnel } from './funnel.tsx'
import { LanguageSelect } from './language-select.tsx'
import { ratio, scoreText } from './percent.ts'
import { sameEnvironment } from './same-environment.ts'

const ROUTE = '/forms/$organization/$project/$formId'

const PERIODS: SwitchProps<FormSearch['days']>['options'] = [
  { value: '7', label: '7 days' },
  { value: undefined, label: '30 days' },
  { value: '90', label: '90 days' },
  { value: 'all', label: 'All' },
]

/** The results of a form: its funnel, and the answers to each question. */
export function Results({ path }: { readonly path: FormPath }) {
  const { environment, days, language } = useSearch({ from: ROUTE })
  const navigate = useNavigate()
  const query = useQuery({
    ...apiQuery('readFormResults', { ...path, environment, days, language }),
    refetchInterval: RELOAD_AFTER_MS,
    placeholderData: sameEnvironment(environment),
  })
  return (
    <>
      <search className="filters results">
        <Switch
          label="Period"
          options={PERIODS}
          chosen={days}
          onChoose={(value) => void navigate({ to: '.', replace: true, search: (now) => ({ ...now, days: value }) })}
        />
        <EnvironmentSwitch environment={environment} />
        <LanguageSelect languages={languagesOf(query.data, language)} chosen={language} all="All languages" />
      </search>
      <WithAnswer query={query} name="the results">
        {(results) => <Shown results={results} />}
      </WithAnswer>
    </>
  )
}

/** Languages of the form, and the chosen one if the form no longer has it. */
function languagesOf(results: Answer<'readFormResults'> | undefined, chosen: string | undefined): readonly string[] {
  return [...new Set([...(results?.languages ?? []), ...(chosen === undefined ? [] : [chosen])])]
}

function Shown({ results }: { readonly results: Answer<'readFormResults'> }) {
  const { from, chartsFrom, to, isStale, funnel, unmatched, elements, trends } = results
  return (
    <>
      <p className="quiet source">
        {from === null ? 'Up to' : `From ${from} to`} {to}, UTC days.
        {from === null && trends.length > 0 && ` Scores by day, week or month begin on ${chartsFrom} at the earliest.`}
        {isStale && ' The answer collector lags, so the latest answers may be missing.'}
      </p>
      <Tiles results={results} />
      <div className="cards">
        <Funnel funnel={funnel} unmatched={unmatched} />
        {elements.map((element) => (
          <ElementCard
            key={`${element.id} ${element.type}`}
            element={element}
            trend={trends.find(({ id, type }) => id === element.id && type === element.type)}
          />
        ))}
        {elements.length === 0 && (
          <EmptyCard title="Questions">
            The form has no questions in the workspace file, and nobody has answered one in this period.
          </EmptyCard>
        )}
      </div>
    </>
  )
}

/** The figures that a reader looks for first. */
function Tiles({
  results: { funnel, responseRate, medianSecondsToAnswer, elements },
}: {
  readonly results: Answer<'readFormResults'>
}) {
  const score = elements.find(({ nps }) => nps !== undefined)
  return (
    <dl className="tiles">
      {score?.nps !== undefined && (
        <div className="card tile">
          <dt>NPS</dt>
          <dd>{scoreText('nps', score.nps)}</dd>
        </div>
      )}
      <div className="card tile">
        <dt>Finished</dt>
        <dd>{figure(funnel.finished)}</dd>
      </div>
      <div className="card tile">
        <dt>Response rate</dt>
        <dd>
          {ratio(responseRate)} <small>of delivered</small>
        </dd>
      </div>
      <div className="card tile">
        <dt>Median time to answer</dt>
        <dd>{seconds(medianSecondsToAnswer)}</dd>
      </div>
    </dl>
  )
}
