import { Link } from '@tanstack/react-router'
import type { OverviewAnswer, ServiceState } from '../../../src/overview/api.ts'
import { isLate } from '../../../src/overview/is-late.ts'
import { figure, seconds } from '../parts/figures.ts'
import { Mark, type MarkKind } from '../parts/mark.tsx'
import { right, TableCard } from '../parts/table-card.tsx'

/** Who runs, and who is behind. */
export function Services({ overview: { services, at } }: { readonly overview: OverviewAnswer }) {
  return (
    <TableCard
      title="Services"
      columns={[
        'Service',
        right('Processes'),
        right('Behind'),
        right('Records waiting'),
        right('Dead letters'),
        right('Outbox'),
        'Halted partitions',
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
          <td className="right num">{behindText(service, at)}</td>
          <td className="right num">{waitingText(service)}</td>
          <td className="right num">{service.isConsumer ? figure(service.deadLetters) : ''}</td>
          <td className="right num">{service.isConsumer ? seconds(service.outboxSeconds) : ''}</td>
          <td className="num">{haltedText(service)}</td>
        </tr>
      ))}
    </TableCard>
  )
}

/** Of one that does not answer: for how long. */
function behindText({ isConsumer, lagSeconds, silence }: ServiceState, at: string): string {
  if (silence && silence.lastAnsweredAt !== null)
    return `silent for ${seconds(Math.round((Date.parse(at) - Date.parse(silence.lastAnsweredAt)) / 1_000))}`
  return isConsumer ? seconds(lagSeconds) : ''
}

/** Of one that does not answer: what waited then, and what the gateways have published since. */
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
    ? { kind: 'warning', label: 'needs a look' }
    : { kind: 'good', label: 'works' }
}
