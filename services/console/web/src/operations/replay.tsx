import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ReplayAnswer } from '../../../src/replay/api.ts'
import { useIsOperator } from '../app/session.ts'
import { apiQuery, useChange } from '../app/use-api.ts'
import { commandInterval, isRunning, OnTerminal } from '../parts/command-run.tsx'
import { EmptyNote, ErrorNote } from '../parts/notes.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { RunbookLink } from '../parts/with-links.tsx'
import { withoutReload } from '../parts/without-reload.ts'
import { ReplayRun } from './replay-run.tsx'
import { needsRestart } from './runs.ts'
import { Sections } from './sections.tsx'

/** Rebuild a consumer's read models beside the live ones, compare, and swap them. */
export function Replay() {
  const replay = useQuery({ ...apiQuery('readReplay', {}), refetchInterval: commandInterval })
  const isOperator = useIsOperator()
  return (
    <>
      <Sections />
      <p className="quiet lead">
        A replay folds the whole log again, with the consumer's present code, into tables beside the live ones, and
        compares both row by row. It mends read models that are wrong, or whose rules have changed. The consumer keeps
        running, and nothing is queued, delivered, published or metered. Runbook: <RunbookLink name="replay" />
      </p>
      <WithAnswer query={replay} what="the last replay">
        {(answer) => <Content answer={answer} isOperator={isOperator} />}
      </WithAnswer>
    </>
  )
}

interface ContentProps {
  readonly answer: ReplayAnswer
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
        obstacle === null && <EmptyNote>No replay was started here since this console runs.</EmptyNote>
      )}
    </>
  )
}

const OBSTACLES = {
  'no-cli': 'This console starts no commands, since CONSOLE_CLI is not set. Run a replay on a terminal:',
  'no-database':
    'This console has no rights to create schemas, since CONSOLE_OPERATOR_DATABASE_URL is not set. Run a replay on a terminal:',
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
            {restart ? 'Compare, and start over' : 'Compare'}
          </button>
        )}
        <p className="quiet wide">
          {isOperator
            ? 'Comparing changes nothing. It needs disk space for a second set of the read models while it runs.'
            : 'Only operators start a replay.'}
        </p>
      </form>
      {start.error && <ErrorNote error={start.error} />}
      {obstacle !== null && (
        <OnTerminal
          why={OBSTACLES[obstacle]}
          commands={[
            `nextvisit replay ${chosen} --dry-run              # compare, and change nothing`,
            `nextvisit replay ${chosen}                        # swap if equal`,
            `nextvisit replay ${chosen} --accept-differences   # swap also if not equal`,
          ]}
        />
      )}
    </>
  )
}
