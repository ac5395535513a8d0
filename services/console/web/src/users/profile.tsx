import type { Answer } from '../../../src/api-routes.ts'
import { figure } from '../components/figures.ts'
import { EmptyCard, EmptyNote } from '../components/notes.tsx'
import { NamedRow, right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'

/** The read model of the user projector. */
export function Profile({ user: { profile, erasureId } }: { readonly user: Answer<'readUser'> }) {
  if (!profile && erasureId !== null) return <EmptyNote>The profile of this user was erased.</EmptyNote>
  if (!profile)
    return (
      <EmptyNote>
        There is no profile because this user was never identified. Traits, segments and events appear after the first
        identify-user.
      </EmptyNote>
    )
  const { traits, device, segments, events } = profile
  return (
    <>
      <div className="columns">
        <Named title="Traits" values={traits} empty="The user has no traits. Set them with identify-user." />
        <Named title="Device" values={device} empty="No visit has reported a device." />
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

function Events({ events }: Pick<NonNullable<Answer<'readUser'>['profile']>, 'events'>) {
  if (events.length === 0)
    return <EmptyCard title="Events">The user has no events. Record them with track-event.</EmptyCard>
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
