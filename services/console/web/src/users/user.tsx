import * as Tabs from '@radix-ui/react-tabs'
import { skipToken, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { Answer } from '../../../src/api-routes.ts'
import type { UserPath } from '../../../src/users/api.ts'
import { ApiError, apiQuery, RELOAD_AFTER_MS } from '../app/api.ts'
import { useIsOperator } from '../app/session.ts'
import { Reveal } from '../components/reveal.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { ProjectCrumbs } from '../components/with-project.tsx'
import { EraseUser } from './erase-user.tsx'
import { ExportUser } from './export-user.tsx'
import { searchedName } from './find-user.tsx'
import { Profile } from './profile.tsx'
import { Timeline } from './timeline.tsx'
import { UserDeliveries } from './user-deliveries.tsx'
import { UserForms } from './user-forms.tsx'

const ROUTE = '/users/$organization/$project/$userId'
const TABS = [
  { tab: 'timeline', label: 'Timeline' },
  { tab: 'forms', label: 'Forms: why, why not' },
  { tab: 'webhooks', label: 'Webhooks' },
  { tab: 'profile', label: 'Profile' },
] as const

/**
 * One user: timeline, decisions on forms, deliveries of webhooks, profile. Each tab loads separately, so a silent service affects only its own.
 */
export function User() {
  const path = useParams({ from: ROUTE })
  const { organization, project } = path
  const { tab = 'timeline' } = useSearch({ from: ROUTE })
  const navigate = useNavigate()
  const query = useQuery({ ...apiQuery('readUser', path), refetchInterval: RELOAD_AFTER_MS })
  useErasure(path, query.data)
  const isNoProject = query.error instanceof ApiError && query.error.status === 404
  return (
    <>
      <ProjectCrumbs path={path}>
        <Link to="/users" search={{ project: `${organization}/${project}` }}>
          Users
        </Link>
      </ProjectCrumbs>
      {query.error && !query.data && (
        <header className="page-head">
          <h1>User</h1>
        </header>
      )}
      <WithAnswer query={query} name="the user">
        {(user) => <Head user={user} path={path} />}
      </WithAnswer>
      {!isNoProject && (
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
            <Timeline path={path} isHeadShown={query.data !== undefined} />
          </Tabs.Content>
          <Tabs.Content value="forms">
            <UserForms path={path} />
          </Tabs.Content>
          <Tabs.Content value="webhooks">
            <UserDeliveries path={path} />
          </Tabs.Content>
          <Tabs.Content value="profile">{query.data && <Profile user={query.data} />}</Tabs.Content>
        </Tabs.Root>
      )}
    </>
  )
}

/** Reloads what the page shows once the user is erased, and forgets the name that was searched for. */
function useErasure({ userId }: UserPath, user: Answer<'readUser'> | undefined): void {
  const client = useQueryClient()
  const erasureId = user?.erasureId
  const seen = useRef(erasureId)
  useEffect(() => {
    // undefined: the page loads.
    const isNew = seen.current !== undefined && seen.current !== erasureId
    seen.current = erasureId
    if (isNew)
      for (const name of ['readTimeline', 'readUserForms', 'listUserDeliveries'])
        void client.invalidateQueries({ queryKey: [name] })
    if (typeof erasureId === 'string') client.removeQueries({ queryKey: searchedName(userId) })
  }, [client, erasureId, userId])
}

function Head({ user, path }: { readonly user: Answer<'readUser'>; readonly path: UserPath }) {
  const { profile } = user
  const isOperator = useIsOperator()
  return (
    <header className="page-head user-head">
      <div>
        <h1>{profile ? profile.userName : user.erasureId ? 'Erased' : 'Not identified'}</h1>
        <p className="quiet">
          <code>{user.userId}</code>
        </p>
        {profile ? (
          <p className="quiet">
            First seen <Time at={profile.firstSeenAt} />, last seen <Time at={profile.lastSeenAt} />
            {profile.country && <>, {profile.country}</>}
            {profile.isStale && <>. The user projector lags, so the latest records may be missing.</>}
          </p>
        ) : user.erasureId === null ? (
          <Unknown user={user} />
        ) : (
          <p className="note empty">
            This user was erased. Names, traits, device facts and properties are gone; ids, times and event names
            remain. The same person may return as a new user.
          </p>
        )}
        {profile && user.erasureId !== null && (
          <p className="quiet">
            An earlier user of this name was erased. Entries from before have no content.{' '}
            <ErasureLink path={path} erasureId={user.erasureId} />
          </p>
        )}
      </div>
      {user.isMasked && <Reveal name="revealUser" input={path} />}
      {isOperator && <ExportUser path={path} />}
      {isOperator && <EraseUser path={path} />}
    </header>
  )
}

function ErasureLink({ path, erasureId }: { readonly path: UserPath; readonly erasureId: string }) {
  const { organization, project } = path
  return (
    <Link to="/erasures/$organization/$project/$erasureId" params={{ organization, project, erasureId }}>
      Status and receipt
    </Link>
  )
}

/** Explains why there is no user, and where to look. */
function Unknown({ user: { organization, project, userId } }: { readonly user: Answer<'readUser'> }) {
  const { data: searched } = useQuery<string>({ queryKey: searchedName(userId), queryFn: skipToken })
  return (
    <div className="note empty unknown">
      <p>
        {searched === undefined ? (
          'This user was never identified'
        ) : (
          <>
            <b>“{searched}”</b> was never identified
          </>
        )}{' '}
        in the project {organization}/{project}: no identify-user and no visit with this userName was accepted there, so
        no form can reach the user.
      </p>
      <ul>
        <li>
          A userName must match exactly, including capitals and spaces.{' '}
          <Link to="/users" search={{ project: `${organization}/${project}` }}>
            Search again
          </Link>
          , or in another project.
        </li>
        <li>Search for the requestId of an identify-user instead. It leads to the user of that request.</li>
        <li>
          A refused request creates no user. Kept refusals of this user are in the timeline below.{' '}
          <Link to="/live" search={{ project: `${organization}/${project}`, outcome: 'refused' }}>
            See all refusals
          </Link>
          .
        </li>
      </ul>
    </div>
  )
}
