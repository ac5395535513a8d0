import { type ReactNode, useId } from 'react'

interface RightColumn {
  readonly right: string
}

/** Head of a column of numbers. */
export const right = (name: string): RightColumn => ({ right: name })

interface TableCardProps {
  readonly title: string
  /** Absent if rows have their own heads. */
  readonly columns?: readonly (string | RightColumn)[]
  /** The children are table bodies, not rows. */
  readonly isGrouped?: boolean
  /** The rows. */
  readonly children: ReactNode
}

/** A table in a card. A wide table scrolls within the card, also by keyboard. */
export function TableCard({ title, columns, isGrouped = false, children }: TableCardProps) {
  const id = useId()
  return (
    <div className="card table-card">
      <h2 id={id}>{title}</h2>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must reach the scroll bar */}
      <section className="scroll" tabIndex={0} aria-labelledby={id}>
        <table>
          {columns && <Head columns={columns} />}
          {isGrouped ? children : <tbody>{children}</tbody>}
        </table>
      </section>
    </div>
  )
}

function Head({ columns }: Required<Pick<TableCardProps, 'columns'>>) {
  return (
    <thead>
      <tr>
        {columns.map((column) =>
          typeof column === 'string' ? (
            <th key={column} scope="col">
              {column}
            </th>
          ) : (
            <th key={column.right} scope="col" className="right">
              {column.right}
            </th>
          ),
        )}
      </tr>
    </thead>
  )
}

interface NamedRowProps {
  readonly name: string
  /** `value`: long text. `num`: digits of equal width. */
  readonly kind?: 'value' | 'num'
  readonly children: ReactNode
}

/** One value in a table whose rows have their own heads. */
export function NamedRow({ name, kind, children }: NamedRowProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className={kind}>{children}</td>
    </tr>
  )
}
