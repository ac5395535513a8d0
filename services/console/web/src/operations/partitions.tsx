import type { PartitionLine } from '../../../src/operations/api.ts'
import { isLate } from '../../../src/overview/is-late.ts'
import { figure, seconds } from '../parts/figures.ts'
import { Mark, type MarkKind } from '../parts/mark.tsx'
import { right, TableCard } from '../parts/table-card.tsx'
import { Time } from '../parts/time.tsx'
import { RunbookLink } from '../parts/with-links.tsx'
import { SetAside } from './set-aside.tsx'

export interface PartitionsProps {
  readonly title: string
  readonly service: string
  readonly partitions: readonly PartitionLine[]
}

/** Partitions with their owners, also those that nobody owns. */
export function Partitions({ title, service, partitions }: PartitionsProps) {
  return (
    <TableCard
      title={title}
      columns={[right('Partition'), 'State', 'Owner', right('Checkpoint'), right('Records waiting'), right('Behind')]}
    >
      {partitions.map((line) => (
        <tr key={line.partition}>
          <th scope="row" className="right num">
            {line.partition}
          </th>
          <td>
            <State line={line} />
            <SetAside service={service} line={line} />
          </td>
          <td className="num">{line.owner ?? 'nobody'}</td>
          <td className="right num">{line.checkpoint ?? '–'}</td>
          <td className="right num">{figure(line.lagRecords)}</td>
          <td className="right num">{seconds(line.lagSeconds)}</td>
        </tr>
      ))}
    </TableCard>
  )
}

function State({ line }: { readonly line: PartitionLine }) {
  const { kind, label } = stateOf(line)
  return (
    <>
      <Mark kind={kind} label={kind === 'good' ? 'good' : 'needs a look'} /> {label}
      {line.alarms.map(({ kind: alarm, offset, recordId, code, message, since }) => (
        <p key={alarm} className="quiet">
          {alarm} at offset {offset} since <Time at={since} />: <code>{code}</code> {message}
          {recordId && <> (record {recordId})</>}. Runbook: <RunbookLink name={alarm === 'halted' ? 'halted' : 'lag'} />
        </p>
      ))}
    </>
  )
}

/** Whether nobody has to look at a partition. */
export function isWell(line: PartitionLine): boolean {
  return stateOf(line).kind === 'good'
}

function stateOf({ owner, alarms, lagSeconds }: PartitionLine): { readonly kind: MarkKind; readonly label: string } {
  const [alarm] = alarms
  if (alarm) return { kind: alarm.kind === 'ticks' ? 'warning' : 'critical', label: alarm.kind }
  if (owner === null) return { kind: 'warning', label: 'no owner' }
  return isLate(lagSeconds) ? { kind: 'warning', label: 'behind' } : { kind: 'good', label: 'follows' }
}
