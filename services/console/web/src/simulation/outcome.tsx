import type { SimulatedForm, SimulationResult } from '../../../src/simulation/api.ts'
import { counted, figure } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'

type Projects = NonNullable<SimulationResult['outcome']>['projects']

const REFUSALS_SHOWN = 3

/** Records that a simulation read, and their period. */
export function Reading({ outcome }: { readonly outcome: NonNullable<SimulationResult['outcome']> }) {
  const { from, to, records, users, since, unreadable } = outcome
  return (
    <>
      <p>
        {counted(records, 'record')} of {counted(users, 'user')} were read
        {since === null && ', the whole log'}. Records received from <Time at={from} /> to <Time at={to} /> were
        evaluated, assuming that every visit showed the form it was offered.
        {unreadable > 0 && ` ${counted(unreadable, 'record')} could not be read, as in every consumer.`}
      </p>
      {since !== null && (
        <p className="findings warning">
          The log was read completely only since <Time at={since} />
          {since > from ? ', which is later than the requested days, so the figures are too low. ' : '. '}
          Earlier activity of users is unknown, so conditions, counts and frequencies that look back further are wrong.
        </p>
      )}
    </>
  )
}

/** Compares the results of the edited file's forms with the results of the applied ones. */
export function Outcome({ projects }: { readonly projects: Projects }) {
  return projects.map(({ organization, project, forms }) => {
    const name = `${organization}/${project}`
    return forms.length === 0 ? (
      <EmptyCard key={name} title={name}>
        Neither the file nor the applied workspace has forms in this project.
      </EmptyCard>
    ) : (
      <Forms key={name} title={name} forms={forms} />
    )
  })
}

function Forms({ title, forms }: { readonly title: string; readonly forms: Projects[number]['forms'] }) {
  return (
    <TableCard
      title={title}
      isGrouped
      columns={[
        'Form',
        'Workspace',
        right('Triggered'),
        right('Queued'),
        right('Users'),
        right('Delivered'),
        'Top reasons',
      ]}
    >
      {forms.map(({ form, proposed, today }) => (
        <tbody key={form}>
          <Side form={form} name="the edited file" side={proposed} without="removed" />
          <Side name="today" side={today} without="not applied" />
        </tbody>
      ))}
    </TableCard>
  )
}

interface SideProps {
  /** Only in the first row of a form. */
  readonly form?: string
  readonly name: string
  readonly side: SimulatedForm | null
  /** Text if there is no result. */
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
            <Refusals refused={side.refused} />
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

function Refusals({ refused }: Pick<SimulatedForm, 'refused'>) {
  if (refused.length === 0) return <span className="quiet">nothing</span>
  return refused.slice(0, REFUSALS_SHOWN).map(({ reason, words, times }) => (
    <p key={reason}>
      <b>{reason}</b> {figure(times)} <span className="quiet">{words}</span>
    </p>
  ))
}
