import type { ReactNode } from 'react'
import type { CommandRunAnswer, Failure } from '../../../src/commands/command-run.ts'
import { figure, seconds } from './figures.ts'
import { Time } from './time.tsx'

/** Returns the reload interval of a command's state: short while it runs, long otherwise, as another session may start one. */
export function commandInterval({ state }: CommandQuery): number {
  return isRunning(state.data?.run) ? 1_000 : 10_000
}

interface CommandQuery {
  readonly state: { readonly data: { readonly run: CommandRunAnswer | null } | undefined }
}

export function isRunning(run: CommandRunAnswer | null | undefined): boolean {
  return run?.endedAt === null
}

/** Shows who started a command, when, and when it ended. */
export function RunTimes({ run: { by, startedAt, resumedAt, endedAt } }: { readonly run: CommandRunAnswer }) {
  return (
    <p className="quiet">
      Started by {by} at <Time at={startedAt} />
      {resumedAt && (
        <>
          , interrupted by a restart of the console, resumed at <Time at={resumedAt} />
        </>
      )}
      {endedAt ? (
        <>
          , ended at <Time at={endedAt} />
        </>
      ) : (
        '. It continues if you leave this page'
      )}
      .
    </p>
  )
}

interface RunProgressProps {
  readonly run: CommandRunAnswer
  /** Current activity, such as `Folding the log`. */
  readonly doing: string
  /** Total number of records; null: unknown. */
  readonly total: number | null
  /** Absent if the session may not stop it. */
  readonly onStop?: (() => void) | undefined
}

/** Progress of a command. */
export function RunProgress({ run: { progress }, doing, total, onStop }: RunProgressProps) {
  const share = progress?.share ?? 0
  return (
    <div className="run-progress">
      <div className="run-doing">
        <output>{doing} …</output>
        {onStop && (
          <button type="button" onClick={onStop}>
            Stop
          </button>
        )}
      </div>
      <progress max={1} value={share} aria-label={doing} />
      {progress && (
        <p className="quiet num">
          {Math.floor(share * 100)} % · {figure(progress.records)}
          {total === null ? '' : ` of ${figure(Math.max(total, progress.records))}`} records ·{' '}
          {figure(progress.perSecond)} records/s
          {progress.secondsLeft !== null && progress.secondsLeft > 0 && ` · ${seconds(progress.secondsLeft)} left`}
        </p>
      )}
    </div>
  )
}

/** Reason why a command ended without a result. */
export function RunFailure({ failure, children }: { readonly failure: Failure; readonly children?: ReactNode }) {
  return (
    <div className="note error" role="alert">
      <span>{failure.message}</span>
      {children}
    </div>
  )
}

/** Explains why the console cannot start a command, and shows the command. */
export function OnTerminal({ why, commands }: { readonly why: ReactNode; readonly commands: readonly string[] }) {
  return (
    <section className="card on-terminal" aria-label="On a terminal">
      <p>{why}</p>
      <pre>{commands.join('\n')}</pre>
    </section>
  )
}
