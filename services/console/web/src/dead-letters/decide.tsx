import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Decide as Asked } from '../../../src/dead-letters/api.ts'
import { callApi } from '../app/call-api.ts'
import { useIsOperator } from '../app/session.ts'
import { ActionDialog } from '../parts/action-dialog.tsx'
import { figure } from '../parts/figures.ts'
import { NOTHING_DECIDED } from './decision-card.tsx'
import { reloadLetters } from './reload-letters.ts'

export interface DecideProps {
  readonly consumer: string
  readonly selected: Asked['selected']
  /** How many of the selected are dead. */
  readonly count: number
  /** One decision takes at most so many. */
  readonly atOnce: number
}

/** Retry or discard, for an operator, after a question. The address then names the decision, and shows what became of it. */
export function Decide({ consumer, selected, count, atOnce }: DecideProps) {
  const isOperator = useIsOperator()
  const client = useQueryClient()
  const navigate = useNavigate()
  if (!isOperator) return <p className="quiet">An operator may retry or discard.</p>

  const decide = async (decision: Asked['decision']): Promise<void> => {
    const { decidedAt } = await callApi('decideDeadLetters', { service: consumer, decision, selected })
    await navigate({ to: '.', search: (now) => ({ ...now, decision: decidedAt ?? NOTHING_DECIDED }) })
    await reloadLetters(client)
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
          {consumer} folds {several ? 'each of these records' : 'this record'} once more, now. That helps once the cause
          is mended: what cannot be read is dead again, with its cause.
        </p>
        <p>
          It is folded late, after newer records of the user, and queues and publishes nothing. Where the order matters,
          replay {consumer} afterwards: <code>nextvisit replay {consumer}</code>
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
          {consumer} never folds {several ? 'these records' : 'this record'}, not even in a replay. This cannot be
          undone.
        </p>
        <p>
          {several
            ? 'The records stay in the log, and their letters are kept with your name and the time.'
            : 'The record stays in the log, and its letter is kept with your name and the time.'}
        </p>
      </ActionDialog>
    </div>
  )
}

function AtOnce({ count, atOnce }: Pick<DecideProps, 'count' | 'atOnce'>) {
  if (count <= atOnce) return null
  return (
    <p>
      These are the first {figure(atOnce)} of {figure(count)}. Afterwards the others are still here.
    </p>
  )
}
