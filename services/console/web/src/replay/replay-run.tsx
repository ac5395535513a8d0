import { useEffect, useRef } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import type { ReplayResult } from '../../../src/replay/api.ts'
import { useChange } from '../app/api.ts'
import { ActionDialog } from '../components/action-dialog.tsx'
import { isRunning, RunFailure, RunProgress, RunTimes } from '../components/command-run.tsx'
import { counted, figure, milliseconds } from '../components/figures.ts'
import { Mark } from '../components/mark.tsx'
import { ErrorNote } from '../components/notes.tsx'
import { Time } from '../components/time.tsx'
import { RunbookLink } from '../components/with-links.tsx'
import { Comparison } from './comparison.tsx'

export type Run = NonNullable<Answer<'readReplay'>['run']>
type Step = ReplayResult['step']

const DOING: Readonly<Record<Step, string>> = {
  begin: 'Preparing tables beside the live ones',
  fold: 'Folding the log',
  compare: 'Comparing rows',
  carry: 'Copying data that is not in the log',
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
  carry: 'Copy the rest',
  swap: 'Swap',
}

/** Returns true if the progress of an interrupted replay must be discarded: it belongs to other code. */
export function needsRestart({ failure }: Run): boolean {
  return failure?.code === 'REPLAY_OF_OTHER_CODE' || failure?.code === 'SCHEMAS_DIFFER'
}

/** Returns true if a swap can follow: after a comparison, or after a swap that did not happen. */
function canSwap({ goal, endedAt, outcome }: Run): boolean {
  return endedAt !== null && (goal === 'swap' || outcome !== null) && outcome?.outcome !== 'swapped'
}

function differingTables(tables: Run['tables']): number {
  return (tables ?? []).filter(({ onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt > 0).length
}

/** A running replay, or the result of the last one. */
export function ReplayRun({ run, mayStart }: { readonly run: Run; readonly mayStart: boolean }) {
  const stop = useChange('stopReplay', 'readReplay')
  const { service, goal, step, failure, records, resumedFrom, isPaused, tables, outcome, startedAt } = run
  // The button that started it may be gone. Keyboard users continue from here.
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
            Resumes the interrupted replay of <Time at={resumedFrom} />.
          </p>
        )}
        {isRunning(run) && outcome === null && (
          <RunProgress
            run={run}
            doing={isPaused ? 'Kafka or Postgres is unavailable or busy; retrying' : DOING[step]}
            total={records}
            onStop={mayStart ? () => stop.mutate({}) : undefined}
          />
        )}
        {stop.error && <ErrorNote error={stop.error} />}
        {failure && <RunFailure failure={failure}>{advice(run)}</RunFailure>}
        {run.lostBatches > 0 && <Lost run={run} />}
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
    ? 'Either everything or nothing was swapped. Compare again to find out.'
    : 'Nothing was swapped. When started again, the replay resumes here.'
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

/** Offsets that cannot be rebuilt. Their rows are among the differences. */
function Lost({ run: { lost, lostBatches } }: { readonly run: Run }) {
  return (
    <div className="findings warning">
      <div>
        Records of {lostBatches === 1 ? 'a batch' : `${figure(lostBatches)} batches`} cannot be rebuilt: their batch
        cannot be decoded. Publish or import them again, or keep the live rows. Runbook: <RunbookLink name="halted" />
      </div>
      <ul>
        {lost.map(({ topic, partition, firstOffset, lastOffset }) => (
          <li key={`${topic}/${partition}/${firstOffset}`}>
            Offsets {firstOffset} to {lastOffset} of {topic}/{partition}
          </li>
        ))}
        {lostBatches > lost.length && <li>and {figure(lostBatches - lost.length)} more</li>}
      </ul>
    </div>
  )
}

function Outcome({ run: { outcome, tables } }: { readonly run: Run }) {
  if (!outcome) return null
  const differing = differingTables(tables)
  const found = outcome.isEqual
    ? 'Rebuilt and live rows are equal.'
    : `${counted(differing, 'table')} ${differing === 1 ? 'differs' : 'differ'}.`
  if (outcome.outcome === 'swapped')
    return (
      <p className="findings good">
        {found} Swapped; folds waited {milliseconds(outcome.lockedMs)}.
      </p>
    )
  if (outcome.isEqual)
    return (
      <p className="findings good">
        {found} There is nothing to repair, and no need to swap: it would bring back the same rows in new tables.
      </p>
    )
  return (
    <p className="findings warning">
      {found} {outcome.outcome === 'refused' && 'Nothing was swapped. '}
      Check the rows below: do you know them to be wrong, or does a changed rule affect them? If other rows differ, find
      out why before you swap.
    </p>
  )
}

/** Button of operators that swaps after a comparison. */
function Swap({ run }: { readonly run: Run }) {
  const start = useChange('startReplay', 'readReplay')
  const { service, tables } = run
  const differing = differingTables(tables)
  return (
    <ActionDialog
      label={`Swap ${service}`}
      action={`Swap the read models of ${service}`}
      onConfirm={() =>
        start.mutateAsync({ service, goal: 'swap', acceptDifferences: differing > 0, restart: needsRestart(run) })
      }
    >
      <ul>
        <li>The log is folded and compared again, including changes since this comparison.</li>
        <li>
          The rebuilt tables replace the live ones in one transaction, and the live ones are dropped. Data that is not
          in the log is copied: reservations, claims, open offers, dead letters.
        </li>
        <li>Folds pause meanwhile, usually for well below a second. Reads continue.</li>
        <li>
          {differing > 0
            ? 'Because rows differ, you must confirm that the rebuilt ones are right. Rows that differ only by then are swapped, too; you see them afterwards.'
            : 'If rows differ by then, nothing is swapped, and the rows are listed.'}
        </li>
      </ul>
      {differing > 0 && (
        <label className="check">
          <input type="checkbox" required />
          Swap although rows of {counted(differing, 'table')} differ: the rebuilt ones are right
        </label>
      )}
    </ActionDialog>
  )
}
