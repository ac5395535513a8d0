import type { Answer } from '../../../src/api-routes.ts'
import { countOf } from './endpoint-health.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'

type Replay = Answer<'readEndpoint'>['endpoint']['replays'][number]

interface ReplaysProps {
  readonly replays: readonly Replay[]
  readonly countedUpTo: number
}

/** The latest replays of an endpoint, newest first. */
export function Replays({ replays, countedUpTo }: ReplaysProps) {
  if (replays.length === 0) return null
  return (
    <TableCard
      title="Replays"
      columns={['Requested', 'Status', 'Records', 'Events', right('Deliveries'), right('Pending'), right('Failed')]}
    >
      {replays.map((replay) => (
        <tr key={replay.replayId}>
          <th scope="row">
            <Time at={replay.requestedAt} />
          </th>
          <td>
            <Progress replay={replay} />
          </td>
          <td>
            from <Time at={replay.from} />
            <p className="quiet">
              {replay.to === undefined ? (
                'to the request'
              ) : (
                <>
                  to <Time at={replay.to} />
                </>
              )}
            </p>
          </td>
          <td>
            <p>{replay.events ? replay.events.join(', ') : 'those of the endpoint'}</p>
          </td>
          <td className="right num">{countOf(replay.deliveries, countedUpTo)}</td>
          <td className="right num">{countOf(replay.pending, countedUpTo)}</td>
          <td className="right num">{countOf(replay.failed, countedUpTo)}</td>
        </tr>
      ))}
    </TableCard>
  )
}

/** The share of the log that a replay has read. Its deliveries are sent meanwhile, and afterwards. */
function Progress({ replay: { replayId, status, progress } }: { readonly replay: Replay }) {
  if (status === 'complete') return <span className="pill delivered">complete</span>
  return (
    <>
      <span className="pill waiting">running</span>{' '}
      <progress max={1} value={progress} aria-label={`Read of replay ${replayId}`} />
      <p className="quiet num">{Math.floor(progress * 100)} % of the log read</p>
    </>
  )
}
