import { useState } from 'react'
import { MAX_NAME_CHARACTERS, unitsOf } from '../../../src/shared-with-pages.ts'
import { ErrorNote } from '../components/notes.tsx'
import { withoutReload } from '../components/without-reload.ts'
import { Wordmark } from '../components/wordmark.tsx'
import { useHasSessionEnded, useSignIn } from './session.ts'

export function SignIn() {
  const signIn = useSignIn()
  const hasEnded = useHasSessionEnded()
  const [token, setToken] = useState('')
  const [name, setName] = useState('')
  return (
    <main className="sign-in">
      <form className="card" onSubmit={withoutReload(() => signIn.mutate({ token: token.trim(), name }))}>
        <Wordmark />
        <h1>Sign in</h1>
        {hasEnded && (
          <output className="note warning">
            You were signed out. A session lasts 12 hours, and ends when the console restarts. After signing in you
            return to this page.
          </output>
        )}
        <p className="quiet">
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
        <button type="submit" className="primary" disabled={signIn.isPending}>
          {signIn.isPending ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}
