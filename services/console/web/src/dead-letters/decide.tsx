import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Input } from '../../../src/api-routes.ts'
import { callApi } from '../app/api.ts'
import { useIsOperator } from '../app/session.ts'
import { ActionDialog } from '../components/action-dialog.tsx'
import { figure } from '../components/figures.ts'
import { reloadDeadLetters } from './decision-card.tsx'
import { formatDecisions } from './decisions.ts'

interface DecideProps {
  /** The letters in each consumer. */
  readonly selections: Input<'decideDeadLetters'>['selections']
  /** Number of selected letters that are dead; of several consumers, the largest. */
  readonly count: number
  /** Maximum number of letters in one decision. */
  readonly atOnce: number
}

/**
 * Buttons of operators that retry or discard letters, in one consumer or in several at once. Afterwards the address names the
 * decisions, so the page follows them.
 */
export function Decide({ selections, count, atOnce }: DecideProps) {
  const isOperator = useIsOperator()
  const client = useQueryClient()
  const navigate = useNavigate()
  if (!isOperator) return <p className="quiet">Operators can retry or discard.</p>

  const decide = async (decision: Input<'decideDeadLetters'>['decision']): Promise<void> => {
    const { consumers } = await callApi('decideDeadLetters', { decision, selections })
    await navigate({ to: '.', search: (now) => ({ ...now, decision: formatDecisions(consumers) }) })
    await reloadDeadLetters(client)
  }
  const services = selections.map(({ service }) => service)
  const inEvery = services.length > 1 ? ' in every consumer' : ''
  const several = count > 1
  const letters = inEvery
    ? several
      ? `these ${figure(Math.min(count, atOnce))} records${inEvery}`
      : `this record${inEvery}`
    : several
      ? `${figure(Math.min(count, atOnce))} dead letters`
      : 'this dead letter'
  const all = several ? ` all ${figure(count)}` : ''
  return (
    <div className="actions">
      <ActionDialog label={`Retry${all}${inEvery}`} action={`Retry ${letters}`} onConfirm={() => decide('retry')}>
        <AtOnce count={count} atOnce={atOnce} />
        <p>
          {inWords(services)} {services.length > 1 ? 'each fold' : 'folds'} {several ? 'these records' : 'this record'}{' '}
          again, now. This helps if the cause is fixed: records that still cannot be read become dead again.
        </p>
        <Effect services={services} />
        <p>
          The retry comes late, after newer records of the user, and queues and publishes nothing. If the order matters,
          run a replay afterwards: <code>nextvisit replay {services.length > 1 ? '<consumer>' : services[0]}</code>
        </p>
      </ActionDialog>
      <ActionDialog
        label={`Discard${all}${inEvery}`}
        action={`Discard ${letters}`}
        isDanger
        onConfirm={() => decide('discard')}
      >
        <AtOnce count={count} atOnce={atOnce} />
        <p>
          {inWords(services)} will never fold {several ? 'these records' : 'this record'}, not even in a replay. You
          cannot undo this.
        </p>
        <Effect services={services} />
        <p>
          {several
            ? 'The records stay in the log. The letters are kept with your name and the time.'
            : 'The record stays in the log. The letter is kept with your name and the time.'}
        </p>
      </ActionDialog>
    </div>
  )
}

function inWords(services: readonly string[]): string {
  return services.length > 1 ? `${services.slice(0, -1).join(', ')} and ${services.at(-1)}` : String(services[0])
}

/** The effect of a decision in several consumers. */
function Effect({ services }: { readonly services: readonly string[] }) {
  if (services.length === 1) return null
  return (
    <p>
      The result is listed for each consumer. If one does not answer, decide again later: the others keep this decision.
    </p>
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
