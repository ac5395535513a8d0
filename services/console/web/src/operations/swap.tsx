import { useChange } from '../app/use-api.ts'
import { ActionDialog } from '../parts/action-dialog.tsx'
import { differingTables, needsRestart, type Run } from './runs.ts'

/** Swap after a comparison, once somebody has read what that does. */
export function Swap({ run }: { readonly run: Run }) {
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
        <li>The log is folded and compared once more: what changed since the comparison is in it.</li>
        <li>
          The rebuilt tables replace the live ones in one transaction, and the live ones are dropped. What is not in the
          log is carried over: reservations, claims, open offers, dead letters.
        </li>
        <li>Folds wait for it, usually well below a second. Reads continue.</li>
        <li>
          {differing > 0
            ? 'Rows differ, so it needs your word that the rebuilt ones are right. If other rows differ by then, too, they are swapped as well, and you see them only afterwards.'
            : 'If rows differ then, nothing is swapped, and you see which.'}
        </li>
      </ul>
      {differing > 0 && (
        <label className="check">
          <input type="checkbox" required />
          Swap although rows of {differing === 1 ? '1 table' : `${differing} tables`} differ: the rebuilt ones are right
        </label>
      )}
    </ActionDialog>
  )
}
