import type { UserAnswer } from '../../../src/users/api.ts'
import { EmptyCard } from '../parts/empty-card.tsx'
import { figure } from '../parts/figures.ts'
import { NamedRow } from '../parts/named-row.tsx'
import { EmptyNote } from '../parts/notes.tsx'
import { right, TableCard } from '../parts/table-card.tsx'
import { Time } from '../parts/time.tsx'

/** What the user projector has folded of this user. */
export function Profile({ user: { profile } }: { readonly user: UserAnswer }) {
  if (!profile)
    return (
      <EmptyNote>
        There is no profile: nobody has identified this user. Traits, segments and events are shown from the first
        identify-user on.
      </EmptyNote>
    )
  const { traits, device, segments, events } = profile
  return (
    <>
      <div className="columns">
        <Named title="Traits" values={traits} empty="The user has no traits. identify-user sets them." />
        <Named title="Device" values={device} empty="No visit has told anything about a device." />
        <section className="card table-card">
          <h2>Segments</h2>
          {segments.length === 0 && <EmptyNote>The user is in no segment of the workspace.</EmptyNote>}
          <ul className="pills">
            {segments.map((segment) => (
              <li key={segment} className="pill">
                {segment}
              </li>
            ))}
          </ul>
        </section>
      </div>
      <Events events={events} />
    </>
  )
}

function Events({ events }: Pick<NonNullable<UserAnswer['profile']>, 'events'>) {
  if (events.length === 0)
    return <EmptyCard title="Events">The user has had no events. track-event records them.</EmptyCard>
  return (
    <TableCard title="Events" columns={['Event', right('Times'), 'First', 'Last']}>
      {events.map(({ slug, count, firstAt, lastAt }) => (
        <tr key={slug}>
          <th scope="row">{slug}</th>
          <td className="right num">{figure(count)}</td>
          <td>
            <Time at={firstAt} />
          </td>
          <td>
            <Time at={lastAt} />
          </td>
        </tr>
      ))}
    </TableCard>
  )
}

interface NamedProps {
  readonly title: string
  readonly values: readonly { readonly name: string; readonly value: string }[]
  readonly empty: string
}

function Named({ title, values, empty }: NamedProps) {
  if (values.length === 0) return <EmptyCard title={title}>{empty}</EmptyCard>
  return (
    <TableCard title={title}>
      {values.map(({ name, value }) => (
        <NamedRow key={name} name={name} kind="value">
          {value}
        </NamedRow>
      ))}
    </TableCard>
  )
}
