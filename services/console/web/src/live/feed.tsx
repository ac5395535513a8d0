import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Answer, Input } from '../../../src/api-routes.ts'
import { callApi } from '../app/api.ts'
import { counted, figure, seconds } from '../components/figures.ts'
import { EmptyNote, Loading } from '../components/notes.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { WithLinks } from '../components/with-links.tsx'
import { FeedEntry } from './feed-entry.tsx'
import { followed, NOTHING_SHOWN, type ShownEntries, withAnswer } from './shown-entries.ts'

/** Filter in the address of the screen. Absent members match all entries. */
export interface LiveSearch extends Pick<Input<'readLive'>, 'event' | 'outcome'> {
  readonly project?: string | undefined
}

const RELOAD_AFTER_MS = 1_000

/** The newest entries that match the filter. A pause keeps them on the screen. */
export function Feed({ filter }: { readonly filter: LiveSearch }) {
  const { shown, isPaused, pause, follow, query } = useLive(filter)
  return (
    <WithAnswer query={query} name="the newest facts">
      {(latest) => (
        <>
          <Problems latest={latest} wantsRefusals={filter.outcome === undefined || filter.outcome === 'refused'} />
          <div className="toolbar">
            <Summary shown={shown} isPaused={isPaused} />
            <button type="button" className={isPaused ? 'primary' : ''} onClick={isPaused ? follow : pause}>
              {isPaused ? 'Follow' : 'Pause'}
            </button>
          </div>
          {filter.outcome === 'refused' && latest.refusals === 'read' && (
            <p className="quiet hint">
              Only some refusals are kept: ten a second of each reason, and the latest 50. The{' '}
              <Link to="/">Overview</Link> counts all refusals of the last hour.
            </p>
          )}
          {shown.entries.length === 0 && <Nothing latest={latest} />}
          {shown.entries.length > 0 && (
            <ol className="timeline feed" aria-label="Entries, newest first">
              {shown.entries.map((entry) => (
                <FeedEntry key={entry.id} entry={entry} />
              ))}
            </ol>
          )}
        </>
      )}
    </WithAnswer>
  )
}

/** Reads new entries every second while the page is visible. During a pause it collects them without showing them. */
function useLive(filter: LiveSearch) {
  const cursor = useRef<string>(undefined)
  const [isPaused, setIsPaused] = useState(false)
  const [shown, setShown] = useState(NOTHING_SHOWN)
  const query = useQuery({
    queryKey: ['readLive', filter],
    queryFn: () => callApi('readLive', inputOf(filter, cursor.current)),
    refetchInterval: RELOAD_AFTER_MS,
    // Each answer is new, even if it equals the last one. Old answers are useless.
    structuralSharing: false,
    gcTime: 0,
  })
  const { data } = query
  useEffect(() => {
    if (!data) return
    cursor.current = data.cursor ?? undefined
    setShown((now) => withAnswer(now, data, isPaused))
    // Once for each answer: a pause that starts later must not add it again.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [data])
  return {
    shown,
    isPaused,
    pause: () => setIsPaused(true),
    follow: () => {
      setIsPaused(false)
      setShown(followed)
    },
    query,
  }
}

function inputOf({ project: name, event, outcome }: LiveSearch, after: string | undefined): Input<'readLive'> {
  const [organization, project] = name?.split('/') ?? []
  return { organization, project, event, outcome, after }
}

function Summary({
  shown: { entries, waiting, skipped },
  isPaused,
}: {
  readonly shown: ShownEntries
  readonly isPaused: boolean
}) {
  return (
    <p className="quiet num">
      {figure(entries.length)} {entries.length === 1 ? 'entry' : 'entries'}, newest first
      {skipped > 0 && <>; {figure(skipped)} skipped because there were too many</>}
      {isPaused && (
        <strong>. Paused: {waiting.length === 0 ? 'nothing new' : `${figure(waiting.length)} newer`}</strong>
      )}
    </p>
  )
}

function Nothing({ latest: { state } }: { readonly latest: Answer<'readLive'> }) {
  if (state === 'starting') return <Loading name="the newest facts" />
  return (
    <EmptyNote>
      No recent entry matches. New ones appear here automatically. For older facts of a user, see the timeline in Users.
    </EmptyNote>
  )
}

function silenceOf({ service, processes, silent }: Answer<'readLive'>['silent'][number]): string {
  return silent === processes
    ? `${service} does not answer, so newer facts do not count as folded. The Overview says what to do.`
    : `${silent} of ${processes} processes of ${service} do not answer. Newer facts of their partitions appear when another process folds them. The Overview says what to do.`
}

/** Reasons why expected entries may be missing. */
function Problems({
  latest: { state, silent, behind, refusals },
  wantsRefusals,
}: {
  readonly latest: Answer<'readLive'>
  readonly wantsRefusals: boolean
}) {
  const problems = [
    ...(state === 'no-log' ? ['Nothing new can be read because Kafka does not answer. The Overview says more.'] : []),
    ...silent.map(silenceOf),
    ...(behind
      ? [
          `${behind.service} lags by ${seconds(behind.seconds)}: ${counted(behind.records, 'record')} will appear when it has folded them.`,
        ]
      : []),
    ...(wantsRefusals && refusals === 'no-answer'
      ? ['Refusals cannot be read: no gateway answers, or Redis does not. The Overview says more.']
      : []),
    ...(wantsRefusals && refusals === 'too-many-projects'
      ? ['Refusals are not shown for so many projects. Select one.']
      : []),
  ]
  return problems.map((problem) => (
    <output key={problem} className="note warning">
      <span>
        <WithLinks text={problem} />
      </span>
    </output>
  ))
}
