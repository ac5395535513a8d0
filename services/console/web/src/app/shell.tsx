import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import type { SessionAnswer } from '../../../src/api/session.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { useZone, type Zone } from '../parts/time.tsx'
import { Wordmark } from '../parts/wordmark.tsx'
import { useSession, useSignOut } from './session.ts'
import { SignIn } from './sign-in.tsx'

/** Everything: the sign-in page, or the navigation with a screen. */
export function Shell() {
  const { data: session, error, refetch, isPending } = useSession()
  if (isPending) return <Loading what="the console" />
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!session) return <SignIn />
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="side">
        <Wordmark />
        <nav aria-label="Screens">
          <Link to="/" activeOptions={{ exact: true, includeSearch: false }}>
            Overview
          </Link>
          <Link to="/live" activeOptions={{ includeSearch: false }}>
            Live
          </Link>
          <Link to="/users" activeOptions={{ includeSearch: false }}>
            Users
          </Link>
          <Link to="/forms" activeOptions={{ includeSearch: false }}>
            Forms
          </Link>
          <Link to="/segments" activeOptions={{ includeSearch: false }}>
            Segments
          </Link>
          <Link to="/registry" activeOptions={{ includeSearch: false }}>
            Registry and usage
          </Link>
          <Link to="/operations" activeOptions={{ includeSearch: false }}>
            Operations
          </Link>
          {session.canTry && session.role === 'operator' && (
            <Link to="/try" activeOptions={{ includeSearch: false }}>
              Try it
            </Link>
          )}
        </nav>
        <Account session={session} />
      </header>
      <main id="content" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  )
}

function Account({ session }: { readonly session: SessionAnswer }) {
  const signOut = useSignOut()
  return (
    <div className="account">
      <ZoneSwitch />
      <p className="who">
        {session.name === session.role ? null : <span>{session.name}</span>}
        <span className="pill">{session.role}</span>
      </p>
      <button type="button" onClick={() => signOut.mutate()}>
        Sign out
      </button>
    </div>
  )
}

const ZONES: readonly { readonly zone: Zone; readonly label: string }[] = [
  { zone: 'local', label: 'Local' },
  { zone: 'utc', label: 'UTC' },
]

function ZoneSwitch() {
  const current = useZone()
  const navigate = useNavigate()
  return (
    <fieldset className="switch" aria-label="Times in">
      {ZONES.map(({ zone, label }) => (
        <button
          key={zone}
          type="button"
          aria-pressed={zone === current}
          onClick={() =>
            void navigate({
              to: '.',
              replace: true,
              search: (now) => ({ ...now, tz: zone === 'utc' ? 'utc' : undefined }),
            })
          }
        >
          {label}
        </button>
      ))}
    </fieldset>
  )
}
