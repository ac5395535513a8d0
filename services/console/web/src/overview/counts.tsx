import type { OverviewAnswer } from '../../../src/api/overview.ts'
import { figure } from '../parts/figures.ts'
import { EmptyCard } from '../parts/empty-card.tsx'
import { TableCard } from '../parts/table-card.tsx'

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
    <TableCard title={title}>
      <thead>
        <tr>
          <th scope="col">{head}</th>
          <th scope="col" className="right">
            5 min
          </th>
          <th scope="col" className="right">
            1 h
          </th>
        </tr>
      </thead>
      <tbody>
        {counts.map(({ name, lastMinutes, lastHour }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className="right num">{figure(lastMinutes)}</td>
            <td className="right num">{figure(lastHour)}</td>
          </tr>
        ))}
      </tbody>
    </TableCard>
  )
}
