import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { TimelineAnswer, TimelineEntry } from '../../../src/api/users.ts'
import { MAX_DEPTH } from '../../../src/users/max-depth.ts'
import { getFrom } from '../app/call-api.ts'
import { EmptyNote } from '../parts/notes.tsx'
import { Time } from '../parts/time.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { WithTimes } from '../parts/with-times.tsx'

/** More at once would make the page stutter (`pnpm benchmark:screens`). */
const SHOWN_AT_ONCE = 200

/** Facts, decisions and what became of forms, the newest first. */
export function Timeline({ path }: { readonly path: string }) {
  const { depth = 1 } = useSearch({ from: '/users/$organization/$project/$userId' })
  const [mostShown, setMostShown] = useState(SHOWN_AT_ONCE)
  const query = useQuery({
    queryKey: [`${path}/timeline`, depth],
    queryFn: () => getFrom<TimelineAnswer>(`${path}/timeline?depth=${depth}`),
    placeholderData: keepPreviousData,
  })
  const { data, isFetching } = query
  return (
    <>
      {data && (
        <div className="toolbar">
          <output className="quiet">{data.entries.length} entries, the newest first</output>
          <button type="button" onClick={() => void query.refetch()} disabled={isFetching}>
            {isFetching ? 'Reading …' : 'Read again'}
          </button>
        </div>
      )}
      <WithAnswer query={query} what="the user's part of the log">
        {({ entries, reading }) => (
          <>
            {entries.length === 0 ? (
              <EmptyNote>The log has nothing of this user in what was read.</EmptyNote>
            ) : (
              <ol className="timeline">
                {entries.slice(0, mostShown).map((entry) => (
                  <Entry key={entry.id} entry={entry} />
                ))}
              </ol>
            )}
            {entries.length > mostShown && (
              <div className="pages">
                <button type="button" onClick={() => setMostShown(mostShown + SHOWN_AT_ONCE)}>
                  Show older entries
                </button>
                <span className="quiet">
                  {mostShown} of {entries.length} are shown
                </span>
              </div>
            )}
            <Reading reading={reading} depth={depth} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

function Entry({ entry: { at, kind, title, details, requestId } }: { readonly entry: TimelineEntry }) {
  return (
    <li className={`entry ${kind}`}>
      <Time at={at} />
      <div>
        <p className="title">{title}</p>
        {details.length > 0 && (
          <dl className="details">
            {details.map(({ name, value, withInstants }) => (
              <div key={name + value}>
                <dt>{name}</dt>
                <dd>{withInstants ? <WithTimes text={value} /> : value}</dd>
              </div>
            ))}
          </dl>
        )}
        {requestId && (
          <p className="quiet">
            <small>
              request <code>{requestId}</code>
            </small>
          </p>
        )}
      </div>
    </li>
  )
}

/** How far back the log was read, and why no further. */
function Reading({ reading, depth }: { readonly reading: TimelineAnswer['reading']; readonly depth: number }) {
  const navigate = useNavigate()
  const read = `${reading.records} records of partition ${reading.partition} were read`
  if (reading.stopped === 'beginning') return <p className="quiet hint">{read}: the whole log of this user.</p>
  const because = reading.stopped === 'time' ? 'reading took too long' : 'that is the bound'
  return (
    <div className="note">
      <span>
        {read}, then reading stopped: {because}.{' '}
        {reading.since && (
          <>
            Older facts than <Time at={reading.since} /> are not shown.
          </>
        )}
      </span>
      {reading.stopped === 'records' && depth < MAX_DEPTH && (
        <button
          type="button"
          onClick={() => void navigate({ to: '.', replace: true, search: (now) => ({ ...now, depth: depth + 1 }) })}
        >
          Read further back
        </button>
      )}
    </div>
  )
}
