import { Link } from '@tanstack/react-router'
import type { LiveAnswer } from '../../../src/live/api.ts'
import { figure, seconds } from '../parts/figures.ts'
import { EmptyNote, Loading } from '../parts/notes.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { WithLinks } from '../parts/with-links.tsx'
import { FeedEntry } from './feed-entry.tsx'
import type { LiveSearch } from './live-search.ts'
import type { ShownEntries } from './shown-entries.ts'
import { useLive } from './use-live.ts'

/** The newest entries that pass the filter; a pause keeps them still. */
export function Feed({ filter }: { readonly filter: LiveSearch }) {
  const { shown, isPaused, pause, follow, query } = useLive(filter)
  return (
    <WithAnswer query={query} what="the newest facts">
      {(latest) => (
        <>
          <Troubles latest={latest} wantsRefusals={filter.outcome === undefined || filter.outcome === 'refused'} />
          <div className="toolbar">
            <Summary shown={shown} isPaused={isPaused} />
            <button type="button" className={isPaused ? 'primary' : ''} onClick={isPaused ? follow : pause}>
              {isPaused ? 'Follow' : 'Pause'}
            </button>
          </div>
          {filter.outcome === 'refused' && latest.refusals === 'read' && (
            <p className="quiet hint">
              Of many refusals not all are kept: of each reason ten a second and the latest 50. The{' '}
              <Link to="/">Overview</Link> counts all of the last hour.
            </p>
          )}
          {shown.entries.length === 0 && <Nothing latest={latest} />}
          {shown.entries.length > 0 && (
            <ol className="timeline feed" aria-label="What happened, the newest first">
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

interface SummaryProps {
  readonly shown: ShownEntries
  readonly isPaused: boolean
}

function Summary({ shown: { entries, waiting, skipped }, isPaused }: SummaryProps) {
  return (
    <p className="quiet num">
      {figure(entries.length)} {entries.length === 1 ? 'entry' : 'entries'}, the newest first
      {skipped > 0 && <>; {figure(skipped)} skipped: more came than a page can show</>}
      {isPaused && (
        <strong>. Paused: {waiting.length === 0 ? 'nothing new' : `${figure(waiting.length)} newer`}</strong>
      )}
    </p>
  )
}

function Nothing({ latest: { state } }: { readonly latest: LiveAnswer }) {
  if (state === 'starting') return <Loading what="the newest facts" />
  return (
    <EmptyNote>
      Nothing of late fits. What comes now appears here by itself. Older facts of a user are on their timeline: Users.
    </EmptyNote>
  )
}

interface TroublesProps {
  readonly latest: LiveAnswer
  readonly wantsRefusals: boolean
}

function silenceOf({ service, processes, silent }: LiveAnswer['silent'][number]): string {
  return silent === processes
    ? `${service} does not answer, so no newer fact counts as folded. The Overview says what to do.`
    : `${silent} of ${processes} processes of ${service} do not answer, so newer facts of their partitions do not appear until another process folds them. The Overview says what to do.`
}

/** Why something that one waits for does not appear. */
function Troubles({ latest: { state, silent, behind, refusals }, wantsRefusals }: TroublesProps) {
  const troubles = [
    ...(state === 'no-log' ? ['Kafka does not answer, so nothing new can be read. The Overview says more.'] : []),
    ...silent.map(silenceOf),
    ...(behind
      ? [
          `${behind.service} is ${seconds(behind.seconds)} behind: ${figure(behind.records)} records are not folded by it yet, and appear later.`,
        ]
      : []),
    ...(wantsRefusals && refusals === 'no-answer'
      ? ['Refusals cannot be read: no gateway answers, or Redis does not. The Overview says more.']
      : []),
    ...(wantsRefusals && refusals === 'too-many-projects'
      ? ['There are too many projects to watch the refusals of all: choose one.']
      : []),
  ]
  return troubles.map((trouble) => (
    <output key={trouble} className="note warning">
      <span>
        <WithLinks text={trouble} />
      </span>
    </output>
  ))
}
