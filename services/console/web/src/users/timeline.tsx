import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { MAX_DEPTH } from '../../../src/api-bounds.ts'
import type { TimelineAnswer, TimelineEntry, UserPath } from '../../../src/users/api.ts'
import { LONG_ANSWER_WITHIN_MS } from '../app/call-api.ts'
import { apiQuery } from '../app/use-api.ts'
import { EmptyNote } from '../parts/notes.tsx'
import { Reveal } from '../parts/reveal.tsx'
import { Time } from '../parts/time.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { WithTimes } from '../parts/with-times.tsx'

const ROUTE = '/users/$organization/$project/$userId'
/** More at once would make the page stutter (`pnpm benchmark:screens`). */
const SHOWN_AT_ONCE = 200

export interface TimelineProps {
  readonly path: UserPath
  /** Whether the page has what stands above all tabs: otherwise personal data can be shown from here. */
  readonly isHeadShown: boolean
}

/** Facts, decisions, refusals and what became of forms, the newest first. */
export function Timeline({ path, isHeadShown }: TimelineProps) {
  const { depth = 1, request } = useSearch({ from: ROUTE })
  const query = useQuery({
    ...apiQuery('readTimeline', { ...path, depth, request }, LONG_ANSWER_WITHIN_MS),
    placeholderData: keepPreviousData,
  })
  const { data, isFetching } = query
  return (
    <>
      {data && (
        <div className="toolbar">
          <output className="quiet">
            {data.entries.length === 1 ? '1 entry' : `${data.entries.length} entries, the newest first`}
          </output>
          <button type="button" onClick={() => void query.refetch()} disabled={isFetching}>
            {isFetching ? 'Reading …' : 'Read again'}
          </button>
        </div>
      )}
      <WithAnswer query={query} what="the user's part of the log">
        {({ isMasked, entries, gaps, reading }) => (
          <>
            {isMasked && !isHeadShown && <Reveal name="revealUser" input={path} />}
            {gaps.map((gap) => (
              <p key={gap} className="note">
                {gap}
              </p>
            ))}
            {entries.length === 0 ? (
              <EmptyNote>The log has nothing of this user in what was read.</EmptyNote>
            ) : (
              <Entries entries={entries} request={request} />
            )}
            <Reading reading={reading} depth={depth} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

interface EntriesProps {
  readonly entries: readonly TimelineEntry[]
  /** Whose entries are marked. */
  readonly request: string | undefined
}

/** A part of the entries; more where the request that is looked for lies further back. */
function Entries({ entries, request }: EntriesProps) {
  const [asked, setAsked] = useState(SHOWN_AT_ONCE)
  const first = entries.findIndex(({ requestId }) => requestId !== null && requestId === request)
  const mostShown = Math.max(asked, first + 1)
  return (
    <>
      {request !== undefined && first === -1 && (
        <p className="note">
          The request <code>{request}</code> is not among these entries. Read again, or further back.
        </p>
      )}
      <ol className="timeline">
        {entries.slice(0, mostShown).map((entry, index) => (
          <Entry
            key={entry.id}
            entry={entry}
            isSought={request !== undefined && entry.requestId === request}
            isFirstSought={index === first}
          />
        ))}
      </ol>
      {entries.length > mostShown && (
        <div className="pages">
          <button type="button" onClick={() => setAsked(mostShown + SHOWN_AT_ONCE)}>
            Show older entries
          </button>
          <span className="quiet">
            {mostShown} of {entries.length} are shown
          </span>
        </div>
      )}
    </>
  )
}

interface EntryProps {
  readonly entry: TimelineEntry
  /** Whether it comes from the request that somebody looks for. */
  readonly isSought: boolean
  /** The page goes to it. */
  readonly isFirstSought: boolean
}

function Entry({ entry: { at, kind, title, details, requestId }, isSought, isFirstSought }: EntryProps) {
  const row = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (!isFirstSought) return
    row.current?.scrollIntoView({ block: 'center' })
    row.current?.focus({ preventScroll: true })
  }, [isFirstSought])
  return (
    <li
      className={`entry ${kind}${isSought ? ' sought' : ''}`}
      ref={row}
      tabIndex={isFirstSought ? -1 : undefined}
      aria-current={isSought || undefined}
    >
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
              {isSought ? 'the request that you look for,' : 'request'} <code>{requestId}</code>
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
