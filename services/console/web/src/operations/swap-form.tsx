import { useState } from 'react'
import { ErrorNote } from '../parts/notes.tsx'
import { useStartCommand } from '../parts/use-command.ts'
import { withoutReload } from '../parts/without-reload.ts'
import { differingTables, type Run } from './replay-run.tsx'

/** Whether what an interrupted replay has left is of no use: it was of other code. */
export function needsRestart({ failure }: Run): boolean {
  return failure?.code === 'REPLAY_OF_OTHER_CODE' || failure?.code === 'SCHEMAS_DIFFER'
}

/** Swap after a comparison, once somebody has read what that does. */
export function SwapForm({ run }: { readonly run: Run }) {
  const [isOpen, setOpen] = useState(false)
  const [accepts, setAccepts] = useState(false)
  const start = useStartCommand('replay')
  const { service, tables } = run
  const differing = differingTables(tables)
  if (!isOpen)
    return (
      <p className="next">
        <button type="button" onClick={() => setOpen(true)}>
          Swap {service} …
        </button>
      </p>
    )
  return (
    <form
      className="card confirm"
      aria-labelledby="swap"
      onSubmit={withoutReload(() =>
        start.mutate({ service, goal: 'swap', acceptDifferences: accepts, restart: needsRestart(run) }),
      )}
    >
      <h2 id="swap">Swap the read models of {service}?</h2>
      <ul>
        <li>The log is folded and compared once more: what changed since the comparison is in it.</li>
        <li>
          The rebuilt tables replace the live ones in one transaction, and the live ones are dropped. What is not in the
          log is carried over: reservations, claims, open offers, dead letters.
        </li>
        <li>Folds wait for it, usually well below a second. Reads continue.</li>
        <li>
          {differing > 0
            ? 'The rows above differ, so it needs your word that the rebuilt ones are right. If other rows differ by then, too, they are swapped as well, and you see them only afterwards.'
            : 'If rows differ then, nothing is swapped, and you see which.'}
        </li>
      </ul>
      {differing > 0 && (
        <label className="check">
          <input type="checkbox" required checked={accepts} onChange={(event) => setAccepts(event.target.checked)} />
          Swap although rows of {differing === 1 ? '1 table' : `${differing} tables`} differ: the rebuilt ones are right
        </label>
      )}
      {start.error && <ErrorNote error={start.error} />}
      <p className="next">
        <button type="submit" className="primary" disabled={start.isPending}>
          Swap
        </button>
        <button type="button" onClick={() => setOpen(false)}>
          Cancel
        </button>
      </p>
    </form>
  )
}
