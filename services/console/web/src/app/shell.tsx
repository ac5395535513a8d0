import { Link, Outlet, useLocation, useMatches, useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { SessionAnswer } from '../../../src/session/api.ts'
import { ErrorNote, Loading } from '../components/notes.tsx'
import { Switch, type SwitchProps } from '../components/switch.tsx'
import { useZone, type Zone } from '../components/time.tsx'
import { Wordmark } from '../components/wordmark.tsx'
import { useSession, useSignOut } from './session.ts'
import { SignIn } from './sign-in.tsx'

const SCREENS = [
  { to: '/', label: 'Overview' },
  { to: '/live', label: 'Live' },
  { to: '/users', label: 'Users' },
  { to: '/forms', label: 'Forms' },
  { to: '/segments', label: 'Segments' },
  { to: '/webhooks', label: 'Webhooks' },
  { to: '/registry', label: 'Registry and usage' },
  { to: '/operations', label: 'Operations' },
] as const

/** The sign-in page, or the navigation with a screen. */
export function Shell() {
  const { data: session, error, refetch, isPending } = useSession()
  const content = useRef<HTMLElement>(null)
  const nav = useActiveInSight(session !== null)
  useTitle(session === null ? 'Sign in' : undefined)
  if (isPending) return <Loading name="the console" />
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />
  if (!session) return <SignIn />
  return (
    <div className="shell">
      {/* Not a link: addresses are relative to `<base>`, so #content would lead to the Overview. */}
      <button type="button" className="skip" onClick={() => content.current?.focus()}>
        Skip to content
      </button>
      <header className="side">
        <Wordmark />
        <nav ref={nav} aria-label="Screens">
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
      <main ref={content} id="content" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  )
}

/** Sets the title of the page: subject, then screen. `fixed` overrides the address. */
function useTitle(fixed: string | undefined): void {
  const match = useMatches().at(-1)
  const { formId, segmentId, endpointId, consumer, name } = (match?.params ?? {}) as Readonly<
    Record<string, string | undefined>
  >
  const screen = match?.staticData.title
  const parts = fixed === undefined ? [formId ?? segmentId ?? endpointId ?? consumer ?? name, screen] : [fixed]
  const title = [...parts, 'Nextvisit'].filter((part) => part !== undefined).join(' · ')
  useEffect(() => {
    document.title = title
  }, [title])
}

/** Scrolls a narrow navigation to the current screen. */
function useActiveInSight(isShown: boolean) {
  const nav = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  useEffect(() => {
    const active = nav.current?.querySelector<HTMLElement>('.active')
    if (!nav.current || !active) return
    // Centres the link. Setting scrollLeft never scrolls the page itself.
    nav.current.scrollLeft =
      active.offsetLeft - nav.current.offsetLeft - (nav.current.clientWidth - active.offsetWidth) / 2
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- the active link changes with them
  }, [pathname, isShown])
  return nav
}

function Account({ session }: { readonly session: SessionAnswer }) {
  const signOut = useSignOut()
  return (
    <div className="account">
      <ZoneSwitch />
      <p className="who">
        {session.name === session.role ? null : <span>{session.name}</span>}
        {session.verifiedBy === null ? null : <span className="quiet">by {session.verifiedBy}</span>}
        <span className="pill">{session.role}</span>
      </p>
      {signOut.error && <ErrorNote error={signOut.error} />}
      <button type="button" disabled={signOut.isPending} onClick={() => signOut.mutate()}>
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
  return <Switch label="Time zone" options={ZONES} chosen={useZone()} onChoose={choose} />
}
