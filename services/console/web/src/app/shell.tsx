import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import type { SessionAnswer } from '../../../src/api/session.ts'
import { ErrorNote, Loading } from '../parts/notes.tsx'
import { Switch, type SwitchProps } from '../parts/switch.tsx'
import { useZone, type Zone } from '../parts/time.tsx'
import { Wordmark } from '../parts/wordmark.tsx'
import { useSession, useSignOut } from './session.ts'
import { SignIn } from './sign-in.tsx'

const SCREENS = [
  { to: '/', label: 'Overview' },
  { to: '/live', label: 'Live' },
  { to: '/users', label: 'Users' },
  { to: '/forms', label: 'Forms' },
  { to: '/segments', label: 'Segments' },
  { to: '/registry', label: 'Registry and usage' },
  { to: '/operations', label: 'Operations' },
] as const

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
          {SCREENS.map(({ to, label }) => (
            <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
              {label}
            </Link>
          ))}
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

const ZONES: SwitchProps<Zone>['options'] = [
  { value: 'local', label: 'Local' },
  { value: 'utc', label: 'UTC' },
]

function ZoneSwitch() {
  const navigate = useNavigate()
  const choose = (zone: Zone) =>
    void navigate({ to: '.', replace: true, search: (now) => ({ ...now, tz: zone === 'utc' ? 'utc' : undefined }) })
  return <Switch label="Times in" options={ZONES} chosen={useZone()} onChoose={choose} />
}
