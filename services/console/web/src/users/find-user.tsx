import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { ProjectsAnswer } from '../../../src/api/session.ts'
import type { FindUser as Asked, UserPath } from '../../../src/api/users.ts'
import { getFrom, postTo } from '../app/call-api.ts'
import { EmptyNote, ErrorNote, Loading } from '../parts/notes.tsx'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Search by the exact userName, or by a requestId. */
export function FindUser() {
  const navigate = useNavigate()
  const { project: chosen } = useSearch({ from: '/users' })
  const projects = useQuery({ queryKey: ['projects'], queryFn: () => getFrom<ProjectsAnswer>('projects') })
  const [searched, setSearched] = useState('')
  const find = useMutation({
    mutationFn: (asked: Asked) => postTo<UserPath>('users/find', asked),
    onSuccess: (params) => void navigate({ to: '/users/$organization/$project/$userId', params }),
  })
  if (projects.isPending) return <Loading what="the projects" />
  if (projects.error) return <ErrorNote error={projects.error} onRetry={() => void projects.refetch()} />
  const names = projects.data.projects.map(({ organization, project }) => `${organization}/${project}`)
  const current = names.find((name) => name === chosen) ?? names[0]
  return (
    <>
      <header className="page-head">
        <h1>Users</h1>
      </header>
      {current === undefined ? (
        <EmptyNote>The workspace has no project yet. Apply a workspace file: nextvisit apply FILE.</EmptyNote>
      ) : (
        <search>
          <form
            className="card find"
            onSubmit={(event) => {
              event.preventDefault()
              find.mutate(askedOf(current, searched))
            }}
          >
            <label>
              Project
              <select
                value={current}
                onChange={(event) =>
                  void navigate({ to: '/users', replace: true, search: { project: event.target.value } })
                }
              >
                {names.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            <label className="wide">
              userName or requestId
              <input
                type="search"
                required
                maxLength={255}
                autoComplete="off"
                spellCheck={false}
                placeholder="exactly as identify-user was given it"
                value={searched}
                onChange={(event) => setSearched(event.target.value)}
              />
            </label>
            <button type="submit" className="primary" disabled={find.isPending}>
              {find.isPending ? 'Searching …' : 'Find'}
            </button>
          </form>
        </search>
      )}
      {find.error && <ErrorNote error={find.error} />}
      <p className="quiet hint">
        A userName is taken exactly as it was given, with capitals and spaces. A requestId is the{' '}
        <code>X-Request-Id</code> of an answer; it is looked for in every project.
      </p>
    </>
  )
}

/** A requestId looks like one. A user who is really named like that can be found by the requests. */
function askedOf(place: string, searched: string): Asked {
  if (UUID.test(searched.trim())) return { requestId: searched.trim().toLowerCase() }
  const [organization = '', project = ''] = place.split('/')
  return { organization, project, userName: searched }
}
