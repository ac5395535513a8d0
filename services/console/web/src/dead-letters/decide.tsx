import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Input } from '../../../src/api-routes.ts'
import { callApi } from '../app/api.ts'
import { useIsOperator } from '../app/session.ts'
import { ActionDialog } from '../components/action-dialog.tsx'
import { figure } from '../components/figures.ts'
import { NOTHING_DECIDED, reloadDeadLetters } from './decision-card.tsx'

interface DecideProps {
  readonly consumer: string
  readonly selected: Input<'decideDeadLetters'>['selected']
  /** Number of selected letters that are dead. */
  readonly count: number
  /** Maximum number of letters in one decision. */
  readonly atOnce: number
}

/** Buttons of operators that retry or discard letters. Afterwards the address names the decision, so the page follows it. */
export function Decide({ consumer, selected, count, atOnce }: DecideProps) {
  const isOperator = useIsOperator()
  const client = useQueryClient()
  const navigate = useNavigate()
  if (!isOperator) return <p className="quiet">Operators can retry or discard.</p>

  const decide = async (decision: Input<'decideDeadLetters'>['decision']): Promise<void> => {
    const { decidedAt } = await callApi('decideDeadLetters', { service: consumer, decision, selected })
    await navigate({ to: '.', search: (now) => ({ ...now, decision: decidedAt ?? NOTHING_DECIDED }) })
    await reloadDeadLetters(client)
  }
  const several = count > 1
  const letters = several ? `${figure(Math.min(count, atOnce))} dead letters` : 'this dead letter'
  return (
    <div className="actions">
      <ActionDialog
        label={several ? `Retry all ${figure(count)}` : 'Retry'}
        action={`Retry ${letters}`}
        onConfirm={() => decide('retry')}
      >
        <AtOnce count={count} atOnce={atOnce} />
        <p>
          {consumer} folds {several ? 'these records' : 'this record'} again, now. This helps if the cause is fixed:
          records that still cannot be read become dead again.
        </p>
        <p>
          The retry comes late, after newer records of the user, and queues and publishes nothing. If the order matters,
          run a replay afterwards: <code>nextvisit replay {consumer}</code>
        </p>
      </ActionDialog>
      <ActionDialog
        label={several ? `Discard all ${figure(count)}` : 'Discard'}
        action={`Discard ${letters}`}
        isDanger
        onConfirm={() => decide('discard')}
      >
        <AtOnce count={count} atOnce={atOnce} />
        <p>
          {consumer} will never fold {several ? 'these records' : 'this record'}, not even in a replay. You cannot undo
          this.
        </p>
        <p>
          {several
            ? 'The records stay in the log. The letters are kept with your name and the time.'
            : 'The record stays in the log. The letter is kept with your name and the time.'}
        </p>
      </ActionDialog>
    </div>
  )
}

function AtOnce({ count, atOnce }: Pick<DecideProps, 'count' | 'atOnce'>) {
  if (count <= atOnce) return null
  return (
    <p>
      This covers the first {figure(atOnce)} of {figure(count)}. The others remain for another decision.
    </p>
  )
}
