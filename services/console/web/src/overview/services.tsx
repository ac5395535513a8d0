import { Link } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import type { ServiceState } from '../../../src/overview/api.ts'
import { isLate } from '../../../src/shared-with-pages.ts'
import { Age } from '../components/age.tsx'
import { figure, seconds } from '../components/figures.ts'
import { Mark, type MarkKind } from '../components/mark.tsx'
import { right, TableCard } from '../components/table-card.tsx'

/** State and lag of each service. */
export function Services({
  overview: { services, at },
  receivedAtMs,
}: {
  readonly overview: Answer<'readOverview'>
  /** Time of the answer, by the browser's clock. */
  readonly receivedAtMs: number
}) {
  return (
    <TableCard
      title="Services"
      columns={[
        'Service',
        right('Processes'),
        right('Lag'),
        right('Records waiting'),
        right('Dead letters'),
        right('Outbox'),
        'Halted partitions',
        right('Age of the figures'),
      ]}
    >
      {services.map((service) => (
        <tr key={service.service}>
          <th scope="row">
            <Mark {...stateOf(service)} />{' '}
            {service.isConsumer ? (
              <Link to="/operations" search={{ consumer: service.service }}>
                {service.service}
              </Link>
            ) : (
              service.service
            )}
          </th>
          <td className="right num">
            {service.answering} / {service.processes}
          </td>
          <td className="right num">{lagText(service)}</td>
          <td className="right num">{waitingText(service)}</td>
          <td className="right num">{service.isConsumer ? figure(service.deadLetters) : ''}</td>
          <td className="right num">{service.isConsumer ? seconds(service.outboxSeconds) : ''}</td>
          <td className="num">{haltedText(service)}</td>
          <td className="right num">
            {service.asOf ? <Age of={service.asOf} answeredAt={at} receivedAtMs={receivedAtMs} /> : '–'}
          </td>
        </tr>
      ))}
    </TableCard>
  )
}

function lagText({ isConsumer, lagSeconds, silence }: ServiceState): string {
  if (silence) return 'silent'
  return isConsumer ? seconds(lagSeconds) : ''
}

/** Records waiting; for a silent service an estimate from its last answer and the records published since. */
function waitingText({ isConsumer, lagRecords, silence }: ServiceState): string {
  if (!isConsumer) return ''
  return silence && silence.recordsWaiting !== null ? `about ${figure(silence.recordsWaiting)}` : figure(lagRecords)
}

function haltedText({ isConsumer, answering, haltedPartitions }: ServiceState): string {
  if (!isConsumer) return ''
  return answering === 0 ? '–' : haltedPartitions.join(', ') || 'none'
}

function stateOf(service: ServiceState): { readonly kind: MarkKind; readonly label: string } {
  if (service.answering === 0) return { kind: 'critical', label: 'does not answer' }
  if (service.haltedPartitions.length > 0) return { kind: 'critical', label: 'halted' }
  const isReduced = service.answering < service.processes || (service.deadLetters ?? 0) > 0
  return isLate(service.lagSeconds) || isReduced
    ? { kind: 'warning', label: 'needs attention' }
    : { kind: 'good', label: 'works' }
}
