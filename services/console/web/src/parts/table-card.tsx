import { type ReactNode, useId } from 'react'

interface RightColumn {
  readonly right: string
}

/** The column of a table that holds numbers. */
export const right = (name: string): RightColumn => ({ right: name })

export interface TableCardProps {
  readonly title: string
  /** Left out where each row names itself. */
  readonly columns?: readonly (string | RightColumn)[]
  /** Whether the children are bodies, each a group of rows. */
  readonly isGrouped?: boolean
  /** The rows. */
  readonly children: ReactNode
}

/** A table in a card; where it is too wide, it scrolls within the card, also by keyboard. */
export function TableCard({ title, columns, isGrouped = false, children }: TableCardProps) {
  const id = useId()
  return (
    <div className="card table-card">
      <h2 id={id}>{title}</h2>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- who uses a keyboard must reach its scroll bar */}
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
