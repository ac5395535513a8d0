import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import { useIsOperator } from '../app/session.ts'
import { apiQuery, useChange } from '../app/api.ts'
import { commandInterval, isRunning, OnTerminal } from '../components/command-run.tsx'
import { EmptyNote, ErrorNote } from '../components/notes.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { RunbookLink } from '../components/with-links.tsx'
import { withoutReload } from '../components/without-reload.ts'
import { needsRestart, ReplayRun } from './replay-run.tsx'
import { Sections } from '../operations/sections.tsx'

/** Rebuilds the read models of a consumer beside the live ones, compares, and swaps them. */
export function Replay() {
  const replay = useQuery({ ...apiQuery('readReplay', {}), refetchInterval: commandInterval })
  const isOperator = useIsOperator()
  return (
    <>
      <Sections />
      <p className="quiet lead">
        A replay folds the whole log into tables beside the live ones, with the consumer's current code, and compares
        them row by row. Use it to repair read models, or after changing their rules. The consumer keeps running.
        Nothing is queued, delivered, published or metered. Runbook: <RunbookLink name="replay" />
      </p>
      <WithAnswer query={replay} name="the last replay">
        {(answer) => <Content answer={answer} isOperator={isOperator} />}
      </WithAnswer>
    </>
  )
}

interface ContentProps {
  readonly answer: Answer<'readReplay'>
  readonly isOperator: boolean
}

function Content({ answer, isOperator }: ContentProps) {
  const { run, obstacle } = answer
  const mayStart = isOperator && obstacle === null
  return (
    <>
      <Start answer={answer} isOperator={isOperator} />
      {run ? (
        <ReplayRun run={run} mayStart={mayStart} />
      ) : (
        obstacle === null && <EmptyNote>No replay has been started since the console started.</EmptyNote>
      )}
    </>
  )
}

const OBSTACLES = {
  'no-cli': 'CONSOLE_CLI is not set, so this console cannot start commands. Run a replay on a terminal:',
  'no-database':
    'CONSOLE_OPERATOR_DATABASE_URL is not set, so this console cannot create schemas. Run a replay on a terminal:',
}

function Start({ answer: { services, obstacle, run }, isOperator }: ContentProps) {
  const { consumer } = useSearch({ from: '/operations/replay' })
  const navigate = useNavigate()
  const start = useChange('startReplay', 'readReplay')
  const chosen = services.find((service) => service === consumer) ?? services[0] ?? ''
  const restart = run?.service === chosen && needsRestart(run)
  const choose = (service: string) =>
    void navigate({ to: '/operations/replay', replace: true, search: { consumer: service } })
  return (
    <>
      <form
        className="card find"
        onSubmit={withoutReload(() =>
          start.mutate({ service: chosen, goal: 'compare', acceptDifferences: false, restart }),
        )}
      >
        <label>
          Consumer
          <select value={chosen} onChange={(event) => choose(event.target.value)}>
            {services.map((service) => (
              <option key={service}>{service}</option>
            ))}
          </select>
        </label>
        {isOperator && obstacle === null && (
          <button type="submit" className="primary" disabled={isRunning(run) || start.isPending}>
            {restart ? 'Compare from the beginning' : 'Compare'}
          </button>
        )}
        <p className="quiet wide">
          {isOperator
            ? 'A comparison changes nothing. While it runs it needs disk space for a second copy of the read models.'
            : 'Only operators can start a replay.'}
        </p>
      </form>
      {start.error && <ErrorNote error={start.error} />}
      {obstacle !== null && (
        <OnTerminal
          why={OBSTACLES[obstacle]}
          commands={[
            `nextvisit replay ${chosen} --dry-run              # compare, and change nothing`,
            `nextvisit replay ${chosen}                        # swap if equal`,
            `nextvisit replay ${chosen} --accept-differences   # swap even if rows differ`,
          ]}
        />
      )}
    </>
  )
}
