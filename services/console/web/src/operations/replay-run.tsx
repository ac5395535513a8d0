import { useEffect, useRef } from 'react'
import type { ReplayResult } from '../../../src/replay/api.ts'
import { useChange } from '../app/use-api.ts'
import { isRunning, RunFailure, RunProgress, RunTimes } from '../parts/command-run.tsx'
import { milliseconds } from '../parts/figures.ts'
import { Mark } from '../parts/mark.tsx'
import { ErrorNote } from '../parts/notes.tsx'
import { Time } from '../parts/time.tsx'
import { Comparison } from './comparison.tsx'
import { canSwap, differingTables, type Run } from './runs.ts'
import { Swap } from './swap.tsx'

type Step = ReplayResult['step']

const DOING: Readonly<Record<Step, string>> = {
  begin: 'Preparing tables beside the live ones',
  fold: 'Folding the log',
  compare: 'Comparing, row by row',
  carry: 'Carrying over what is not in the log',
  swap: 'Swapping',
}
const STEPS: Readonly<Record<ReplayResult['goal'], readonly Step[]>> = {
  compare: ['begin', 'fold', 'compare'],
  swap: ['begin', 'fold', 'compare', 'carry', 'swap'],
}
const NAMES: Readonly<Record<Step, string>> = {
  begin: 'Prepare',
  fold: 'Fold the log',
  compare: 'Compare',
  carry: 'Carry over',
  swap: 'Swap',
}

/** A replay as it goes, or as it ended. */
export function ReplayRun({ run, mayStart }: { readonly run: Run; readonly mayStart: boolean }) {
  const stop = useChange('stopReplay', 'readReplay')
  const { service, goal, step, failure, records, resumedFrom, isPaused, tables, outcome, startedAt } = run
  // The button that started it may be gone: whoever uses a keyboard goes on from here.
  const section = useRef<HTMLElement>(null)
  const shown = useRef(startedAt)
  useEffect(() => {
    if (shown.current !== startedAt && document.activeElement === document.body) section.current?.focus()
    shown.current = startedAt
  }, [startedAt])
  return (
    <>
      <section className="card run" aria-labelledby="run" ref={section} tabIndex={-1}>
        <h2 id="run">
          {goal === 'compare' ? 'Comparison' : 'Swap'} of {service}
        </h2>
        <RunTimes run={run} />
        <Steps run={run} />
        {resumedFrom && (
          <p className="quiet">
            It continues the replay that was interrupted, which began at <Time at={resumedFrom} />.
          </p>
        )}
        {isRunning(run) && outcome === null && (
          <RunProgress
            run={run}
            doing={isPaused ? 'Postgres is unavailable or busy; trying again' : DOING[step]}
            total={records}
            onStop={mayStart ? () => stop.mutate({}) : undefined}
          />
        )}
        {stop.error && <ErrorNote error={stop.error} />}
        {failure && <RunFailure failure={failure}>{advice(run)}</RunFailure>}
        <Outcome run={run} />
        {mayStart && canSwap(run) && (
          <div className="actions">
            <Swap key={startedAt} run={run} />
          </div>
        )}
      </section>
      {tables && <Comparison tables={tables} />}
    </>
  )
}

function advice({ failure, step, goal }: Run): string | null {
  if (failure?.code !== 'STOPPED') return null
  return goal === 'swap' && step === 'swap'
    ? 'It has swapped everything or nothing. Compare again to see which.'
    : 'Nothing was swapped. Started again, it continues where it was.'
}

function Steps({ run: { goal, step, endedAt, outcome } }: { readonly run: Run }) {
  const steps = STEPS[goal]
  const current = steps.indexOf(step)
  return (
    <ol className="run-steps" aria-label="Steps">
      {steps.map((one, index) => {
        const isDone = index < current || (index === current && outcome !== null)
        const isCurrent = index === current && endedAt === null
        return (
          <li key={one} aria-current={isCurrent ? 'step' : undefined}>
            {isDone ? (
              <Mark kind="good" label="done" />
            ) : index === current && endedAt !== null ? (
              <Mark kind="critical" label="ended here" />
            ) : (
              <Mark kind="none" label={isCurrent ? 'now' : 'not yet'} />
            )}{' '}
            {NAMES[one]}
          </li>
        )
      })}
    </ol>
  )
}

function Outcome({ run: { outcome, tables } }: { readonly run: Run }) {
  if (!outcome) return null
  const found = outcome.isEqual ? 'Rebuilt and live rows are equal.' : differ(tables)
  if (outcome.outcome === 'swapped')
    return (
      <p className="findings good">
        {found} Swapped; folds waited {milliseconds(outcome.lockedMs)}.
      </p>
    )
  if (outcome.isEqual)
    return (
      <p className="findings good">
        {found} There is nothing to mend, and no need to swap: the same rows would come back, in newly written tables.
      </p>
    )
  return (
    <p className="findings warning">
      {found} {outcome.outcome === 'refused' && 'So nothing was swapped. '}
      Look at the rows below: are they those that you know to be wrong, or those that a changed rule affects? If there
      are others, find out why before you swap.
    </p>
  )
}

function differ(tables: Run['tables']): string {
  const count = differingTables(tables)
  return count === 1 ? '1 table differs.' : `${count} tables differ.`
}
