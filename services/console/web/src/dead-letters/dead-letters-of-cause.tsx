import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearch } from '@tanstack/react-router'
import type { DeadLetter } from '@nextvisit/contracts'
import { apiQuery } from '../app/api.ts'
import { useConsumers } from '../operations/use-consumers.ts'
import { bytes, counted } from '../components/figures.ts'
import { EmptyNote } from '../components/notes.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { RunbookLink } from '../components/with-links.tsx'
import { Decide } from './decide.tsx'
import { DecisionCard } from './decision-card.tsx'
import { DeadLetterLink, DeadLetterStateCell } from './dead-letter-cells.tsx'
import { DeadLettersHead } from './dead-letters-head.tsx'

const ROUTE = '/operations/$consumer/dead-letters'
const RELOAD_AFTER_MS = 5_000

/** The dead letters of one cause, with actions for all of them. */
export function DeadLettersOfCause() {
  const { consumer } = useParams({ from: ROUTE })
  const { cause: causeId = '', after = 0, decision } = useSearch({ from: ROUTE })
  const query = useQuery({
    ...apiQuery('listDeadLetters', { service: consumer, causeId, after: String(after) }),
    refetchInterval: RELOAD_AFTER_MS,
  })
  const { data } = query
  const consumers = useConsumers()
  const groups = consumers.data?.consumers.find(({ service }) => service === consumer)?.deadLetters
  const group = groups?.find((one) => one.causeId === causeId)
  const [first] = data?.letters ?? []
  return (
    <>
      <DeadLettersHead consumer={consumer} title={first?.cause ?? group?.cause ?? 'Dead letters'}>
        {data && group && group.dead > 0 && (
          <Decide
            selections={[{ service: consumer, selected: { by: 'causeId', causeId, lastId: group.lastId } }]}
            count={group.dead}
            atOnce={data.atOnce}
          />
        )}
      </DeadLettersHead>
      {decision !== undefined && <DecisionCard key={decision} decision={decision} />}
      <WithAnswer query={query} name="the dead letters">
        {({ letters }) =>
          letters.length > 0 ? (
            <Letters consumer={consumer} letters={letters} />
          ) : (
            <EmptyNote>
              No dead letter of {consumer} with this cause is waiting: all were folded or discarded, or have another
              cause now. See{' '}
              <Link to="/operations/$consumer/decided-letters" params={{ consumer }}>
                retried and discarded letters
              </Link>
              .
            </EmptyNote>
          )
        }
      </WithAnswer>
      <SameCause consumer={consumer} causeId={causeId} atOnce={data?.atOnce ?? 0} />
      <p className="quiet hint">
        Retry dead letters when the cause is fixed, for example after deploying a {consumer} that can read them. Discard
        records that are not from Nextvisit. Runbook: <RunbookLink name="dead-letters" />
      </p>
      <nav className="toolbar" aria-label="Pages">
        {after === 0 ? (
          <span />
        ) : (
          <Link to={ROUTE} params={{ consumer }} search={{ cause: causeId }}>
            First page
          </Link>
        )}
        {data?.next && (
          <Link to={ROUTE} params={{ consumer }} search={{ cause: causeId, after: Number(data.next) }}>
            Next page
          </Link>
        )}
      </nav>
    </>
  )
}

interface SameCauseProps {
  readonly consumer: string
  readonly causeId: string
  readonly atOnce: number
}

/** The same cause in other consumers: often all of them fail to read a record. One decision is enough for all. */
function SameCause({ consumer, causeId, atOnce }: SameCauseProps) {
  const groups = (useConsumers().data?.consumers ?? []).flatMap(({ service, deadLetters }) => {
    const group = deadLetters?.find((one) => one.causeId === causeId)
    return group ? [{ service, ...group }] : []
  })
  const others = groups.filter(({ service }) => service !== consumer)
  if (others.length === 0) return null
  const dead = groups.filter((group) => group.dead > 0)
  return (
    <section className="card decision" aria-label="The same cause in other consumers">
      <p>Other consumers have letters with this cause:</p>
      <ul className="causes">
        {others.map(({ service, dead: waiting, toRetry }) => (
          <li key={service}>
            <Link to={ROUTE} params={{ consumer: service }} search={{ cause: causeId }}>
              {service}
            </Link>
            , {counted(waiting + toRetry, 'letter')}
          </li>
        ))}
      </ul>
      {dead.length > 1 && (
        <Decide
          selections={dead.map(({ service, lastId }) => ({ service, selected: { by: 'causeId', causeId, lastId } }))}
          count={Math.max(...dead.map((group) => group.dead))}
          atOnce={atOnce}
        />
      )}
    </section>
  )
}

function Letters({ consumer, letters }: { readonly consumer: string; readonly letters: readonly DeadLetter[] }) {
  return (
    <TableCard
      title="Records, oldest letter first"
      columns={['Letter', 'State', 'Record time', 'Dead since', 'Position in the log', right('Value')]}
    >
      {letters.map(({ id, state, recordTime, deadAt, topic, partition, offset, valueBytes }) => (
        <tr key={id}>
          <th scope="row">
            <DeadLetterLink consumer={consumer} id={id} />
          </th>
          <td>
            <DeadLetterStateCell state={state} />
          </td>
          <td>
            <Time at={recordTime} />
          </td>
          <td>
            <Time at={deadAt} />
          </td>
          <td className="num">
            {topic}, partition {partition}, offset {offset}
          </td>
          <td className="right num">{bytes(valueBytes)}</td>
        </tr>
      ))}
    </TableCard>
  )
}
