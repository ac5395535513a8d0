import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import { useIsOperator } from '../app/session.ts'
import { apiQuery, useChange } from '../app/api.ts'
import {
  commandInterval,
  isRunning,
  OnTerminal,
  RunFailure,
  RunProgress,
  RunTimes,
} from '../components/command-run.tsx'
import { counted, figure } from '../components/figures.ts'
import { EmptyNote, ErrorNote } from '../components/notes.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { Outcome, Reading } from './outcome.tsx'
import { StartForm } from './start-form.tsx'

/** Simulates the forms of an edited workspace file over the last days, compared with the applied ones. */
export function Simulation() {
  const simulation = useQuery({ ...apiQuery('readSimulation', {}), refetchInterval: commandInterval })
  const isOperator = useIsOperator()
  return (
    <>
      <nav aria-label="Breadcrumbs" className="crumbs">
        <Link to="/forms">Forms</Link> / Simulation
      </nav>
      <header className="page-head">
        <h1>Simulation</h1>
        <p className="quiet">
          Test an edited workspace file on the records of the last days before you apply it. The result shows how many
          users its forms would have been queued for, and how many visits would have shown them, beside the forms that
          are applied today. Nothing is changed.
        </p>
      </header>
      <WithAnswer query={simulation} name="the last simulation">
        {(answer) => <Content answer={answer} isOperator={isOperator} />}
      </WithAnswer>
    </>
  )
}

function Content({ answer, isOperator }: { readonly answer: Answer<'readSimulation'>; readonly isOperator: boolean }) {
  const { run, canStart, maxRecords } = answer
  const [workspace, setWorkspace] = useState('')
  const editor = useRef<HTMLTextAreaElement>(null)
  const mayStart = isOperator && canStart
  return (
    <>
      {mayStart && <StartForm editor={editor} workspace={workspace} onEdit={setWorkspace} isRunning={isRunning(run)} />}
      {!isOperator && <p className="quiet">Only operators can start a simulation. The last one is below.</p>}
      {!canStart && (
        <OnTerminal
          why="CONSOLE_CLI is not set, so this console cannot start commands. Run a simulation on a terminal:"
          commands={['nextvisit forms dry-run workspace.yaml --from 7d']}
        />
      )}
      {run ? (
        <Run run={run} mayStop={mayStart} onLine={(line) => showLine(editor.current, line)} />
      ) : (
        canStart && <EmptyNote>No simulation has been started since the console started.</EmptyNote>
      )}
      {canStart && (
        <p className="quiet hint">
          A simulation reads the newest {figure(maxRecords)} records of each topic. If the log is longer, the result
          shows how far back it was read completely. To read the whole log, run nextvisit forms dry-run.
        </p>
      )}
    </>
  )
}

interface RunProps {
  readonly run: NonNullable<Answer<'readSimulation'>['run']>
  readonly mayStop: boolean
  readonly onLine: (line: number) => void
}

function Run({ run, mayStop, onLine }: RunProps) {
  const stop = useChange('stopSimulation', 'readSimulation')
  const { days, failure, outcome } = run
  return (
    <>
      <section className="card run" aria-labelledby="run">
        <h2 id="run">Simulation of the last {days === 1 ? 'day' : `${days} days`}</h2>
        <RunTimes run={run} />
        {isRunning(run) && (
          <RunProgress
            run={run}
            doing="Reading the log"
            total={null}
            onStop={mayStop ? () => stop.mutate({}) : undefined}
          />
        )}
        {stop.error && <ErrorNote error={stop.error} />}
        {failure && (
          <RunFailure
            failure={failure.faults.length === 0 ? failure : { ...failure, message: faultyFile(failure.faults.length) }}
          />
        )}
        {failure && failure.faults.length > 0 && (
          <ul className="faults" aria-label="Faults of the file">
            {failure.faults.map(({ line, path, message }) => (
              <li key={`${line} ${path} ${message}`}>
                <button type="button" onClick={() => onLine(line)}>
                  Line {line}
                </button>
                <span>
                  {path && <code>{path}</code>} {message}
                </span>
              </li>
            ))}
          </ul>
        )}
        {outcome && <Reading outcome={outcome} />}
      </section>
      {outcome && <Outcome projects={outcome.projects} />}
    </>
  )
}

function faultyFile(faults: number): string {
  return `The file has ${counted(faults, 'fault')}. Nothing was simulated.`
}

/** Selects a line of the edited file. */
function showLine(editor: HTMLTextAreaElement | null, line: number): void {
  if (!editor) return
  const lines = editor.value.split('\n')
  const begin = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0)
  editor.focus()
  editor.setSelectionRange(begin, begin + (lines[line - 1]?.length ?? 0))
}
