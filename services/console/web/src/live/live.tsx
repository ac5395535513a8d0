import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { MAX_SEARCH_CHARACTERS, unitsOf } from '../../../src/shared-with-pages.ts'
import { ProjectSelect, WithProject } from '../components/with-project.tsx'
import { withoutReload } from '../components/without-reload.ts'
import { Feed, type LiveSearch } from './feed.tsx'

const OUTCOMES: { readonly [Outcome in NonNullable<LiveSearch['outcome']>]: string } = {
  recorded: 'Recorded',
  queued: 'Form queued',
  delivered: 'Form delivered',
  ended: 'Form expired or cancelled',
  refused: 'Refused',
}

/** Current facts, form events and refusals. */
export function Live() {
  const search = useSearch({ from: '/live' })
  return (
    <>
      <header className="page-head">
        <h1>Live</h1>
        <p className="quiet">
          A fact appears when every consumer has folded it. Refusals come from the gateways. Forms that were not queued
          are not listed: <Link to="/forms">Forms</Link> counts the reasons, and <Link to="/users">Users</Link> shows
          them for each user.
        </p>
      </header>
      <WithProject chosen={search.project}>
        {({ names }) => {
          const project = names.find((name) => name === search.project)
          const filter = { project, event: search.event, outcome: search.outcome }
          return (
            <>
              <Filters key={search.event} names={names} filter={filter} />
              <Feed key={Object.values(filter).join('\n')} filter={filter} />
            </>
          )
        }}
      </WithProject>
    </>
  )
}

function Filters({ names, filter }: { readonly names: readonly string[]; readonly filter: LiveSearch }) {
  const navigate = useNavigate()
  const [event, setEvent] = useState(filter.event ?? '')
  const choose = (chosen: LiveSearch) =>
    void navigate({ to: '/live', replace: true, search: (now) => ({ ...now, ...chosen }) })
  const submit = withoutReload(() => choose({ event: event || undefined }))
  return (
    <search>
      <form className="card filters" onSubmit={submit}>
        <ProjectSelect
          name={filter.project}
          names={names}
          all="All projects"
          onChoose={(project) => choose({ project })}
        />
        <label>
          Outcome
          <select
            value={filter.outcome ?? ''}
            onChange={({ target }) => choose({ outcome: (target.value || undefined) as LiveSearch['outcome'] })}
          >
            <option value="">Everything</option>
            {Object.entries(OUTCOMES).map(([outcome, label]) => (
              <option key={outcome} value={outcome}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label>
          Event
          <input
            type="search"
            maxLength={unitsOf(MAX_SEARCH_CHARACTERS)}
            autoComplete="off"
            spellCheck={false}
            placeholder="any, in any spelling"
            value={event}
            onChange={({ target }) => setEvent(target.value)}
            onBlur={() => event !== (filter.event ?? '') && choose({ event: event || undefined })}
          />
        </label>
      </form>
    </search>
  )
}
