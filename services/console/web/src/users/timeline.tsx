import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import { MAX_DEPTH } from '../../../src/shared-with-pages.ts'
import type { TimelineEntry, UserPath } from '../../../src/users/api.ts'
import { apiQuery, LONG_ANSWER_WITHIN_MS } from '../app/api.ts'
import { bytes, counted } from '../components/figures.ts'
import { EmptyNote } from '../components/notes.tsx'
import { Reveal } from '../components/reveal.tsx'
import { Time, WithTimes } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'

const ROUTE = '/users/$organization/$project/$userId'
/** More entries at once would slow the page down (`pnpm benchmark:screens`). */
const SHOWN_AT_ONCE = 200

interface TimelineProps {
  readonly path: UserPath
  /** The head above the tabs is shown. Otherwise the button that reveals personal data appears here. */
  readonly isHeadShown: boolean
}

/** Facts, decisions, refusals and form events, newest first. */
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
            {data.entries.length === 1 ? '1 entry' : `${data.entries.length} entries, newest first`}
          </output>
          <button type="button" onClick={() => void query.refetch()} disabled={isFetching}>
            {isFetching ? 'Refreshing …' : 'Refresh'}
          </button>
        </div>
      )}
      <WithAnswer query={query} name="the user's part of the log">
        {({ isMasked, entries, gaps, reading }) => (
          <>
            {isMasked && !isHeadShown && <Reveal name="revealUser" input={path} />}
            {gaps.map((gap) => (
              <p key={gap} className="note">
                {gap}
              </p>
            ))}
            {entries.length === 0 ? (
              <EmptyNote>The part of the log that was read has no entries for this user.</EmptyNote>
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
  /** Its entries are highlighted. */
  readonly request: string | undefined
}

/** The newest entries, at least up to the requested one. */
function Entries({ entries, request }: EntriesProps) {
  const [limit, setLimit] = useState(SHOWN_AT_ONCE)
  const first = entries.findIndex(({ requestId }) => requestId !== null && requestId === request)
  const mostShown = Math.max(limit, first + 1)
  return (
    <>
      {request !== undefined && first === -1 && (
        <p className="note">
          Request <code>{request}</code> is not among these entries. Refresh, or read further back.
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
          <button type="button" onClick={() => setLimit(mostShown + SHOWN_AT_ONCE)}>
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
  /** The entry belongs to the request that the reader looks for. */
  readonly isSought: boolean
  /** The page scrolls to it. */
  readonly isFirstSought: boolean
}

function Entry({ entry, isSought, isFirstSought }: EntryProps) {
  const { at, kind, title, details, moreDetails, requestId, isErased } = entry
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
        <p className="title">
          {title}
          {isErased && (
            <>
              {' '}
              <span className="pill expired">erased</span>
            </>
          )}
        </p>
        {details.length > 0 && (
          <dl className="details">
            {details.map(({ name, value, withInstants, cutFromBytes }) => (
              <div key={name + value}>
                <dt>{name}</dt>
                <dd>
                  {withInstants ? <WithTimes text={value} /> : value}
                  {cutFromBytes !== undefined && (
                    <small className="quiet"> … (the beginning of {bytes(cutFromBytes)})</small>
                  )}
                </dd>
              </div>
            ))}
          </dl>
        )}
        {moreDetails !== undefined && (
          <p className="quiet">
            <small>{counted(moreDetails, 'more value')} of this record: not shown, because they are too long.</small>
          </p>
        )}
        {requestId && (
          <p className="quiet">
            <small>
              {isSought ? 'the request you searched for:' : 'request'} <code>{requestId}</code>
            </small>
          </p>
        )}
      </div>
    </li>
  )
}

const BECAUSE = {
  records: 'the maximum was reached',
  time: 'reading took too long',
  size: 'the timeline has as many entries, or bytes, as a page can show',
} as const

/** Part of the log that was read, and why no more was. */
function Reading({ reading, depth }: { readonly reading: Answer<'readTimeline'>['reading']; readonly depth: number }) {
  const navigate = useNavigate()
  const read = `Read ${reading.records} records of partition ${reading.partition}`
  if (reading.stopped === 'beginning') return <p className="quiet hint">{read}: the whole log of this user.</p>
  return (
    <div className="note">
      <span>
        {read}, then stopped because {BECAUSE[reading.stopped]}.{' '}
        {reading.since && (
          <>
            Facts before <Time at={reading.since} /> are not shown.
          </>
        )}
        {reading.stopped === 'size' && ' A terminal shows them whole: nextvisit export --out - | grep <userId>'}
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
