import type { SimulatedForm, SimulatedSide, SimulationOutcome } from '../../../src/simulation/api.ts'
import { EmptyCard } from '../parts/empty-card.tsx'
import { figure } from '../parts/figures.ts'
import { right, TableCard } from '../parts/table-card.tsx'
import { Time } from '../parts/time.tsx'

const STOPS_SHOWN = 3

/** What a simulation read, and how far back. */
export function Reading({ outcome }: { readonly outcome: SimulationOutcome }) {
  const { from, to, records, users, since, unreadable } = outcome
  return (
    <>
      <p>
        {figure(records)} records of {figure(users)} {users === 1 ? 'user' : 'users'} were read
        {since === null && ', the whole log'}. What was received from <Time at={from} /> to <Time at={to} /> was
        evaluated, as if every visit had shown the form that it was offered.
        {unreadable > 0 && ` ${figure(unreadable)} records could not be read, as in every consumer.`}
      </p>
      {since !== null && (
        <p className="findings warning">
          Everything was read only since <Time at={since} />
          {since > from ? ', which is later than the days that you asked for: the figures are too low. ' : '. '}
          What users did before is not known here, so conditions, counts and frequencies that look back further are
          wrong.
        </p>
      )}
    </>
  )
}

/** What a simulation found: the edited file's forms beside today's. */
export function Outcome({ outcome: { projects } }: { readonly outcome: SimulationOutcome }) {
  return projects.map(({ organization, project, forms }) => {
    const name = `${organization}/${project}`
    return forms.length === 0 ? (
      <EmptyCard key={name} title={name}>
        Neither the file nor what is applied today has forms in this project.
      </EmptyCard>
    ) : (
      <Forms key={name} title={name} forms={forms} />
    )
  })
}

function Forms({ title, forms }: { readonly title: string; readonly forms: readonly SimulatedForm[] }) {
  return (
    <TableCard
      title={title}
      isGrouped
      columns={[
        'Form',
        'Forms of',
        right('Triggered'),
        right('Queued'),
        right('For users'),
        right('Delivered'),
        'Stopped most by',
      ]}
    >
      {forms.map(({ form, edited, today }) => (
        <tbody key={form}>
          <Side form={form} name="the edited file" side={edited} without="removed" />
          <Side name="today" side={today} without="not applied" />
        </tbody>
      ))}
    </TableCard>
  )
}

interface SideProps {
  /** Of the first row of a form. */
  readonly form?: string
  readonly name: string
  readonly side: SimulatedSide | null
  /** What it is where there is none. */
  readonly without: string
}

function Side({ form, name, side, without }: SideProps) {
  return (
    <tr className={form === undefined ? 'today' : undefined}>
      {form !== undefined && (
        <th scope="rowgroup" rowSpan={2}>
          {form}
        </th>
      )}
      <td>{name}</td>
      {side ? (
        <>
          <td className="right num">{figure(side.evaluated)}</td>
          <td className="right num">{figure(side.queued)}</td>
          <td className="right num">{figure(side.users)}</td>
          <td className="right num">{figure(side.delivered)}</td>
          <td className="value">
            <Stops stops={side.stops} />
          </td>
        </>
      ) : (
        <td colSpan={5} className="quiet">
          {without}
        </td>
      )}
    </tr>
  )
}

function Stops({ stops }: { readonly stops: SimulatedSide['stops'] }) {
  if (stops.length === 0) return <span className="quiet">nothing</span>
  return stops.slice(0, STOPS_SHOWN).map(({ reason, words, times }) => (
    <p key={reason}>
      <b>{reason}</b> {figure(times)} <span className="quiet">{words}</span>
    </p>
  ))
}
