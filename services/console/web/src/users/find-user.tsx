import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { Input } from '../../../src/api-routes.ts'
import { MAX_USER_NAME_CHARACTERS, unitsOf } from '../../../src/shared-with-pages.ts'
import { callApi } from '../app/api.ts'
import { ErrorNote } from '../components/notes.tsx'
import { type ChosenProject, ProjectSelect, WithProject } from '../components/with-project.tsx'
import { withoutReload } from '../components/without-reload.ts'
import { isUuid } from './is-uuid.ts'

/**
 * Returns the query key of the userName that was searched for. It is personal data: it must not be in the address or the
 * browser's history, and signing out clears it.
 */
export function searchedName(userId: string): readonly string[] {
  return ['searched-name', userId]
}

/** Search by exact userName, or by requestId. */
export function FindUser() {
  const { project: chosen } = useSearch({ from: '/users' })
  return (
    <>
      <header className="page-head">
        <h1>Users</h1>
      </header>
      <WithProject chosen={chosen}>{(project) => <Search project={project} />}</WithProject>
      <p className="quiet hint">
        A userName must match exactly, including capitals and spaces. A requestId is the <code>X-Request-Id</code> of a
        response. Accepted requests are found in every project. Refused ones are found in the selected project and nine
        others, while they are kept.
      </p>
      <p>
        <Link to="/erasures" search={{ project: chosen }}>
          Erasures and suppressions
        </Link>
      </p>
    </>
  )
}

function Search({ project }: { readonly project: ChosenProject }) {
  const navigate = useNavigate()
  const client = useQueryClient()
  const [searched, setSearched] = useState('')
  const find = useMutation({
    mutationFn: (input: Input<'findUser'>) => callApi('findUser', input),
    onSuccess: (params, input) => {
      if ('userName' in input) client.setQueryData(searchedName(params.userId), input.userName)
      const request = 'requestId' in input ? input.requestId : undefined
      void navigate({ to: '/users/$organization/$project/$userId', params, search: { request } })
    },
  })
  return (
    <>
      <search>
        <form className="card find" onSubmit={withoutReload(() => find.mutate(inputOf(project, searched)))}>
          <ProjectSelect
            {...project}
            onChoose={(name) => void navigate({ to: '/users', replace: true, search: { project: name } })}
          />
          <label className="wide">
            userName or requestId
            <input
              type="search"
              required
              maxLength={unitsOf(MAX_USER_NAME_CHARACTERS)}
              autoComplete="off"
              spellCheck={false}
              placeholder="exactly as sent to identify-user"
              value={searched}
              onChange={(event) => setSearched(event.target.value)}
            />
          </label>
          <button type="submit" className="primary" disabled={find.isPending}>
            {find.isPending ? 'Searching …' : 'Find'}
          </button>
        </form>
      </search>
      {find.error && <ErrorNote error={find.error} />}
    </>
  )
}

/** Treats a UUID as a requestId. A user with such a name can be found by a request. */
function inputOf({ path }: ChosenProject, searched: string): Input<'findUser'> {
  const requestId = searched.trim().toLowerCase()
  return { ...path, ...(isUuid(requestId) ? { requestId } : { userName: searched }) }
}
