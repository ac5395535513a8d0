import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { SignInAnswer } from '../../../src/session/api.ts'
import { BEGIN_SIGN_IN_PATH, MAX_NAME_CHARACTERS, type SignInProblem, unitsOf } from '../../../src/shared-with-pages.ts'
import { ErrorNote, Loading } from '../components/notes.tsx'
import { withoutReload } from '../components/without-reload.ts'
import { Wordmark } from '../components/wordmark.tsx'
import { apiQuery, RELOAD_AFTER_MS } from './api.ts'
import { useHasSessionEnded, useSignIn } from './session.ts'

export function SignIn() {
  const hasEnded = useHasSessionEnded()
  const { problem } = useSearch({ strict: false })
  // The provider may answer later, or no longer.
  const ways = useQuery({ ...apiQuery('readSignIn', {}), refetchInterval: RELOAD_AFTER_MS })
  return (
    <main className="sign-in">
      <div className="card">
        <Wordmark />
        <h1>Sign in</h1>
        {hasEnded && (
          <output className="note warning">
            You were signed out: sessions end at their maximum age, or after two hours without use. After signing in you
            return to this page.
          </output>
        )}
        {ways.data ? (
          <>
            {problem && <Problem problem={problem} ways={ways.data} />}
            {ways.data.provider && <WithProvider provider={ways.data.provider} asksAgain={problem === 'no-role'} />}
            {ways.data.hasTokens && <WithToken isSecond={ways.data.provider !== null} />}
          </>
        ) : ways.error ? (
          <ErrorNote error={ways.error} onRetry={() => void ways.refetch()} />
        ) : (
          <Loading name="the ways to sign in" />
        )}
      </div>
    </main>
  )
}

interface WithProviderProps {
  readonly provider: NonNullable<SignInAnswer['provider']>
  /** The provider asks for the account even if it has a session. */
  readonly asksAgain: boolean
}

function WithProvider({ provider: { name, isAvailable }, asksAgain }: WithProviderProps) {
  const leave = () => {
    const page = new URL(location.href)
    page.searchParams.delete('problem')
    const address = new URL(BEGIN_SIGN_IN_PATH, document.baseURI)
    address.searchParams.set('return', page.pathname + page.search)
    if (asksAgain) address.searchParams.set('again', '1')
    location.assign(address)
  }
  return (
    <>
      {!isAvailable && (
        <output className="note warning">{name} does not answer, so you cannot sign in with it now.</output>
      )}
      <button type="button" className="primary" disabled={!isAvailable} onClick={leave}>
        {asksAgain ? `Sign in with another account of ${name}` : `Sign in with ${name}`}
      </button>
    </>
  )
}

/** Says why the sign-in with the identity provider has failed. */
function Problem({ problem, ways }: { readonly problem: SignInProblem; readonly ways: SignInAnswer }) {
  const name = ways.provider?.name ?? 'The identity provider'
  return (
    <div className="note error" role="alert">
      <span>{problem === 'no-role' ? <NoRole name={name} roles={ways.roles} /> : PROBLEMS[problem](name)}</span>
    </div>
  )
}

const PROBLEMS: { readonly [Name in Exclude<SignInProblem, 'no-role'>]: (provider: string) => string } = {
  expired: () => 'The sign-in took longer than 15 minutes, or was begun in another browser or tab. Sign in again.',
  refused: (provider) => `${provider} has not signed you in. The log of the console has the reason.`,
  unavailable: (provider) => `${provider} does not answer. Try again in a moment.`,
  'too-many': () => 'Too many sign-ins have failed. Try again in a minute.',
  'no-sessions': () => 'The console cannot keep your session, because Redis does not answer. Try again in a moment.',
}

function NoRole({ name, roles }: { readonly name: string; readonly roles: SignInAnswer['roles'] }) {
  return (
    <>
      {name} knows you, but gives you no role in this console. Ask its administrators for a value of{' '}
      <code>{roles?.claim}</code>: <Values values={roles?.operators ?? []} /> to make changes, or{' '}
      <Values values={roles?.viewers ?? []} /> to read.
    </>
  )
}

function Values({ values }: { readonly values: readonly string[] }) {
  return <code>{values.join(', ')}</code>
}

/** `isSecond`: the identity provider is the usual way. */
function WithToken({ isSecond }: { readonly isSecond: boolean }) {
  const signIn = useSignIn()
  const [token, setToken] = useState('')
  const [name, setName] = useState('')
  return (
    <form onSubmit={withoutReload(() => signIn.mutate({ token: token.trim(), name }))}>
      <p className="quiet">
        {isSecond && 'Or with a token. '}
        <code>npx -y pnpm start</code> prints the token. In other installations it is <code>CONSOLE_TOKEN</code>, or{' '}
        <code>CONSOLE_VIEWER_TOKEN</code> for read-only access.
      </p>
      <label>
        Token
        <input
          type="password"
          autoComplete="current-password"
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
      </label>
      <label>
        Your name <span className="quiet">(optional, for the log)</span>
        <input
          autoComplete="name"
          maxLength={unitsOf(MAX_NAME_CHARACTERS)}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      {signIn.error && <ErrorNote error={signIn.error} />}
      <button type="submit" className={isSecond ? undefined : 'primary'} disabled={signIn.isPending}>
        {signIn.isPending ? 'Signing in …' : isSecond ? 'Sign in with the token' : 'Sign in'}
      </button>
    </form>
  )
}
