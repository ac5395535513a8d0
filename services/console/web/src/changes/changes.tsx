import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import type { ChangeLine } from '../../../src/changes/api.ts'
import { MAX_SEARCH_CHARACTERS, unitsOf } from '../../../src/shared-with-pages.ts'
import { apiQuery, pageQuery } from '../app/api.ts'
import { counted } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { CursorPages } from '../components/pages.tsx'
import { TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { ProjectSelect } from '../components/with-project.tsx'
import { withoutReload } from '../components/without-reload.ts'
import { Sections } from '../operations/sections.tsx'
import { ChangeRow } from './change-row.tsx'
import { KINDS } from './change-words.ts'
import type { ChangesSearch } from './changes-search.ts'

const ROUTE = '/operations/changes'

/** Changes that operators asked for, newest first. New ones appear without a reload. */
export function Changes() {
  const { kind, actor, project, after } = useSearch({ from: ROUTE })
  const [organization, projectId] = project?.split('/') ?? []
  const query = useQuery(pageQuery('listChanges', { kind, actor, organization, project: projectId, before: after }))
  return (
    <>
      <Sections />
      <p className="quiet hint">
        A change is in the log before it is made, and stays there. Exports of personal data are listed, too.
      </p>
      <Filters key={actor} />
      <WithAnswer query={query} name="the changes">
        {(answer) => (
          <>
            <List answer={answer} />
            <CursorPages after={after} next={answer.older} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

function Filters() {
  const navigate = useNavigate()
  const { kind, actor: chosenActor, project } = useSearch({ from: ROUTE })
  const { data } = useQuery(apiQuery('listProjects', {}))
  const [actor, setActor] = useState(chosenActor ?? '')
  const choose = (chosen: ChangesSearch) =>
    void navigate({ to: ROUTE, replace: true, search: (now) => ({ ...now, kind, ...chosen, after: undefined }) })
  const names = data?.projects.map((one) => `${one.organization}/${one.project}`) ?? []
  return (
    <search>
      <form className="card filters" onSubmit={withoutReload(() => choose({ actor: actor || undefined }))}>
        <ProjectSelect
          name={project}
          // A removed project has changes, too.
          names={project === undefined || names.includes(project) ? names : [...names, project]}
          all="All projects"
          onChoose={(name) => choose({ project: name })}
        />
        <label>
          Change
          <select
            value={kind ?? ''}
            onChange={({ target }) => choose({ kind: (target.value || undefined) as ChangeLine['kind'] | undefined })}
          >
            <option value="">Every change</option>
            {Object.entries(KINDS).map(([one, words]) => (
              <option key={one} value={one}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label>
          By
          <input
            type="search"
            maxLength={unitsOf(MAX_SEARCH_CHARACTERS)}
            autoComplete="off"
            spellCheck={false}
            placeholder="part of a name"
            value={actor}
            onChange={({ target }) => setActor(target.value)}
          />
        </label>
        <button type="submit">Find</button>
      </form>
    </search>
  )
}

function List({ answer: { changes, older, lookedBackTo, unreadable } }: { readonly answer: Answer<'listChanges'> }) {
  return (
    <>
      {changes.length === 0 ? (
        <EmptyCard title="Changes">
          {older === null || lookedBackTo === null ? (
            'There is no such change.'
          ) : (
            <>
              No such change since <Time at={lookedBackTo} />. The next page looks further back.
            </>
          )}
        </EmptyCard>
      ) : (
        <TableCard title="Changes" columns={['Requested', 'Outcome', 'Change', 'Where', 'By', 'Details']}>
          {changes.map((change) => (
            <ChangeRow key={`${change.changeId}/${change.requestedAt}/${change.outcome}`} change={change} />
          ))}
        </TableCard>
      )}
      {unreadable > 0 && (
        <p className="note warning">
          {counted(unreadable, 'record')} cannot be shown: a later version has written them, or they are damaged.
        </p>
      )}
    </>
  )
}
