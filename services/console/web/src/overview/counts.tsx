import type { Answer } from '../../../src/api-routes.ts'
import { figure } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time, timeText, useZone } from '../components/time.tsx'

interface CountsProps {
  readonly title: string
  readonly head: string
  readonly counts: Answer<'readOverview'>['answers']
  /** Start of the counts; null: an hour ago. */
  readonly since: string | null
  /** Text without counts; the period is appended. */
  readonly empty: string
}

/** Table of counts, most frequent first. */
export function Counts({ title, head, counts, since, empty }: CountsProps) {
  const zone = useZone()
  if (counts.length === 0)
    return (
      <EmptyCard title={title}>
        <span>
          {empty} {since === null ? 'in the last hour' : <Since at={since} />}.
        </span>
      </EmptyCard>
    )
  const period = since === null ? '1 h' : `since ${timeText(since, zone, false).slice(0, 5)}`
  return (
    <TableCard title={title} columns={[head, right('5 min'), right(period)]}>
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

function Since({ at }: { readonly at: string }) {
  return (
    <>
      since <Time at={at} withDate={false} />, when the console started
    </>
  )
}
