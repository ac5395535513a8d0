import * as Tabs from '@radix-ui/react-tabs'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { UserAnswer } from '../../../src/api/users.ts'
import { getFrom } from '../app/call-api.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Reveal } from '../parts/reveal.tsx'
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
          <Unknown organization={user.organization} project={user.project} />
        )}
      </div>
      {user.isMasked && <Reveal path={path} />}
    </header>
  )
}

/** Why there is nothing to see, and where to look. */
function Unknown({ organization, project }: { readonly organization: string; readonly project: string }) {
  return (
    <div className="note empty unknown">
      <p>
        Nobody has identified this user in the project {organization}/{project}: no identify-user and no visit with this
        userName was accepted there. So no form can reach them.
      </p>
      <ul>
        <li>
          A userName is taken exactly as it was given, with capitals and spaces.{' '}
          <Link to="/users" search={{ project: `${organization}/${project}` }}>
            Search again
          </Link>
          , or choose another project there.
        </li>
        <li>Search for the requestId of an identify-user instead: it leads to the user whom that request named.</li>
        <li>
          A request that was refused leaves no user.{' '}
          <Link to="/live" search={{ project: `${organization}/${project}`, outcome: 'refused' }}>
            See what was refused
          </Link>
          , with the reason.
        </li>
      </ul>
    </div>
  )
}
