import type { ReplayResult } from '../../../src/replay/api.ts'
import { figure } from '../components/figures.ts'
import { right, TableCard } from '../components/table-card.tsx'

type Tables = NonNullable<ReplayResult['tables']>

/** Result of a comparison: row counts of each table, and examples of rows that differ. */
export function Comparison({ tables }: { readonly tables: Tables }) {
  const differing = tables.filter(({ examples }) => examples.length > 0)
  const skipped = tables.filter(({ notCompared }) => notCompared !== null)
  return (
    <>
      <TableCard
        title="Live and rebuilt rows"
        columns={['Table', right('Live'), right('Rebuilt'), right('Only live'), right('Only rebuilt')]}
      >
        {tables.map(({ table, liveRows, rebuiltRows, onlyLive, onlyRebuilt }) => (
          <tr key={table}>
            <th scope="row">{table}</th>
            <td className="right num">{figure(liveRows)}</td>
            <td className="right num">{figure(rebuiltRows)}</td>
            <td className={onlyLive > 0 ? 'right num differs' : 'right num'}>{figure(onlyLive)}</td>
            <td className={onlyRebuilt > 0 ? 'right num differs' : 'right num'}>{figure(onlyRebuilt)}</td>
          </tr>
        ))}
      </TableCard>
      {differing.length > 0 && <Examples tables={differing} />}
      {skipped.map(({ table, notCompared }) => (
        <p key={table} className="quiet hint">
          Not compared: {table}.{notCompared}
        </p>
      ))}
    </>
  )
}

function Examples({ tables }: { readonly tables: Tables }) {
  const hasMore = tables.some(({ examples, onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt > examples.length * 2)
  return (
    <TableCard
      title={hasMore ? 'Some of the rows that differ' : 'Rows that differ'}
      columns={['Table', 'Key', 'Difference']}
    >
      {tables.flatMap(({ table, examples }) =>
        examples.map(({ key, kind, columns }) => (
          <tr key={`${table} ${key}`}>
            <th scope="row">{table}</th>
            <td className="value key">
              <code>{key}</code>
            </td>
            <td>{kind === 'differs' ? `differs in ${columns.join(', ')}` : kind}</td>
          </tr>
        )),
      )}
    </TableCard>
  )
}
