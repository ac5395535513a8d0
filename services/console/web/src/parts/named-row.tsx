import type { ReactNode } from 'react'

export interface NamedRowProps {
  readonly name: string
  /** `value`: may be long. `num`: digits of one width. */
  readonly kind?: 'value' | 'num'
  readonly children: ReactNode
}

/** One thing that is known, in a table whose rows name themselves. */
export function NamedRow({ name, kind, children }: NamedRowProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className={kind}>{children}</td>
    </tr>
  )
}
