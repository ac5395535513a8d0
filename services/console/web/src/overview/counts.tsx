import type { OverviewAnswer } from '../../../src/api/overview.ts'
import { figure } from '../parts/figures.ts'
import { EmptyCard } from '../parts/empty-card.tsx'
import { right, TableCard } from '../parts/table-card.tsx'

export interface CountsProps {
  readonly title: string
  readonly head: string
  readonly counts: OverviewAnswer['answers']
  /** What it means that there are none. */
  readonly empty: string
}

/** How often something happened, the most frequent first. */
export function Counts({ title, head, counts, empty }: CountsProps) {
  if (counts.length === 0) return <EmptyCard title={title}>{empty}</EmptyCard>
  return (
    <TableCard title={title} columns={[head, right('5 min'), right('1 h')]}>
      {counts.map(({ name, lastMinutes, lastHour }) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td className="right num">{figure(lastMinutes)}</td>
          <td className="right num">{figure(lastHour)}</td>
        </tr>
      ))}
    </TableCard>
  )
}
