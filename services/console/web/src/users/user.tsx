import * as Tabs from '@radix-ui/react-tabs'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { UserAnswer } from '../../../src/api/users.ts'
import { getFrom, postTo } from '../app/call-api.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Time } from '../parts/time.tsx'
import { Forms } from './forms.tsx'
import { Profile } from './profile.tsx'
import { Timeline } from './timeline.tsx'

const ROUTE = '/users/$organization/$project/$userId'
const TABS = [
  { tab: 'timeline', label: 'Timeline' },
  { tab: 'forms', label: 'Forms: why, why not' },
  { tab: 'profile', label: 'Profile' },
] as const

/** One user: what happened, why forms did or did not reach them, what is known of them. */
export function User() {
  const { organization, project, userId } = useParams({ from: ROUTE })
  const { tab = 'timeline' } = useSearch({ from: ROUTE })
  const navigate = useNavigate()
  const path = `users/${organization}/${project}/${userId}`
  const { data, error, refetch } = useQuery({ queryKey: [path], queryFn: () => getFrom<UserAnswer>(path) })
  return (
    <>
      <nav aria-label="Where you are" className="crumbs">
        <Link to="/users" search={{ project: `${organization}/${project}` }}>
          Users
        </Link>{' '}
        / {organization} / {project}
      </nav>
      {!data && (error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : <Loading what="the user" />)}
      {data && (
        <>
          <Head user={data} path={path} />
          <Tabs.Root
            value={tab}
            onValueChange={(next) =>
              void navigate({
                to: '.',
                replace: true,
                search: (now) => ({ ...now, tab: TABS.find((one) => one.tab === next)?.tab }),
              })
            }
          >
            <Tabs.List className="tabs" aria-label="About this user">
              {TABS.map((one) => (
                <Tabs.Trigger key={one.tab} value={one.tab}>
                  {one.label}
                </Tabs.Trigger>
              ))}
            </Tabs.List>
            <Tabs.Content value="timeline">
              <Timeline path={path} />
            </Tabs.Content>
            <Tabs.Content value="forms">
              <Forms user={data} />
            </Tabs.Content>
            <Tabs.Content value="profile">
              <Profile user={data} />
            </Tabs.Content>
          </Tabs.Root>
        </>
      )}
    </>
  )
}

function Head({ user, path }: { readonly user: UserAnswer; readonly path: string }) {
  const { profile } = user
  return (
    <header className="page-head user-head">
      <div>
        <h1>{profile ? profile.userName : 'Not identified'}</h1>
        <p className="quiet">
          <code>{user.userId}</code>
        </p>
        {profile ? (
          <p className="quiet">
            first seen <Time at={profile.firstSeenAt} />, last seen <Time at={profile.lastSeenAt} />
            {profile.country && <>, {profile.country}</>}
          </p>
        ) : (
          <p className="note empty">
            Nobody has identified a user with this name in this project. Names are taken exactly as identify-user was
            given them.
          </p>
        )}
      </div>
      {user.isMasked && <Reveal path={path} />}
    </header>
  )
}

/** A viewer asks for personal data; the log says who did. */
function Reveal({ path }: { readonly path: string }) {
  const client = useQueryClient()
  const reveal = useMutation({
    mutationFn: () => postTo(`${path}/reveal`),
    onSuccess: () => client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith(path) }),
  })
  return (
    <div className="reveal">
      <button type="button" onClick={() => reveal.mutate()} disabled={reveal.isPending}>
        Show personal data
      </button>
      <small className="quiet">Values are masked. That you look is logged.</small>
      {reveal.error && <ErrorNote error={reveal.error} />}
    </div>
  )
}
