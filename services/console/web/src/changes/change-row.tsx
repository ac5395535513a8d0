import type { ChangeLine } from '../../../src/changes/api.ts'
import { figure } from '../components/figures.ts'
import { Time } from '../components/time.tsx'
import { authorOf, factsOf, KINDS } from './change-words.ts'

const PILLS = { begun: 'waiting', made: 'added', refused: 'expired', failed: 'removed' } as const

/** A change in the list. */
export function ChangeRow({ change }: { readonly change: ChangeLine }) {
  const { requestedAt, outcome, reason, kind, organization, project, target } = change
  const { name, note } = authorOf(change)
  const place = [organization, project].filter((part) => part !== null).join('/')
  return (
    <tr>
      <th scope="row">
        <Time at={requestedAt} />
      </th>
      <td>
        <span className={`pill ${PILLS[outcome]}`}>{outcome}</span>
        {reason !== null && <div className="quiet">{reason}</div>}
      </td>
      <td>{KINDS[kind]}</td>
      <td className="value">
        {place || 'installation'}
        {target !== null && <div className="quiet">{target}</div>}
      </td>
      <td className="value">
        {name}
        <div className="quiet">{note}</div>
      </td>
      <td className="value">
        {factsOf(change).map((fact) => (
          <div key={fact}>{fact}</div>
        ))}
        <Difference change={change} />
      </td>
    </tr>
  )
}

/** The lines that `nextvisit apply` printed. */
function Difference({ change: { lines, moreLines } }: { readonly change: ChangeLine }) {
  if (lines.length === 0) return null
  return (
    <details>
      <summary>Difference</summary>
      <ul>
        {lines.map((line, index) => (
          <li key={`${index}/${line}`}>{line}</li>
        ))}
      </ul>
      {moreLines > 0 && <p className="quiet">and {figure(moreLines)} more lines</p>}
    </details>
  )
}
