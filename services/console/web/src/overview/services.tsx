import type { ServiceState } from '../../../src/api/overview.ts'
import { isLate } from '../../../src/overview/is-late.ts'
import { figure, seconds } from '../parts/figures.ts'
import { Mark, type MarkKind } from '../parts/mark.tsx'
import { right, TableCard } from '../parts/table-card.tsx'

/** Who runs, and who is behind. */
export function Services({ services }: { readonly services: readonly ServiceState[] }) {
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
            <Mark {...stateOf(service)} /> {service.service}
          </th>
          <td className="right num">
            {service.answering} / {service.processes}
          </td>
          <td className="right num">{service.isConsumer ? seconds(service.lagSeconds) : ''}</td>
          <td className="right num">{service.isConsumer ? figure(service.lagRecords) : ''}</td>
          <td className="right num">{service.isConsumer ? figure(service.deadLetters) : ''}</td>
          <td className="right num">{service.isConsumer ? seconds(service.outboxSeconds) : ''}</td>
          <td className="num">{haltedText(service)}</td>
        </tr>
      ))}
    </TableCard>
  )
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
