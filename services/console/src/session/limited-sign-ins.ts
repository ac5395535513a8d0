import type { SignInOutcome } from './identity-provider.ts'

type Limited = (
  address: string,
  complete: () => Promise<SignInOutcome>,
) => Promise<SignInOutcome | { readonly outcome: 'too-many' }>

interface Attempt {
  readonly address: string
  readonly beganAtMs: number
  isRunning: boolean
}

const WINDOW_MS = 60_000
/** Sign-ins of one network address, and of all, that run or have failed in a window. */
const MAX_ATTEMPTS = { ofAddress: 10, ofAll: 100 }
const MAX_RUNNING = 50

/**
 * Creates the limit on sign-ins with an identity provider. Each one asks the provider, and a failed one is logged. Those of another
 * network address lock nobody out, unless they come from very many addresses. A successful one counts no longer.
 */
export function createLimitedSignIns(nowMs: () => number): Limited {
  let attempts: readonly Attempt[] = []

  return async (address, complete) => {
    attempts = attempts.filter(({ isRunning, beganAtMs }) => isRunning || beganAtMs > nowMs() - WINDOW_MS)
    const ofAddress = attempts.filter((one) => one.address === address).length
    const running = attempts.filter(({ isRunning }) => isRunning).length
    if (ofAddress >= MAX_ATTEMPTS.ofAddress || attempts.length >= MAX_ATTEMPTS.ofAll || running >= MAX_RUNNING)
      return { outcome: 'too-many' }
    const attempt: Attempt = { address, beganAtMs: nowMs(), isRunning: true }
    attempts = [...attempts, attempt]
    try {
      const signIn = await complete()
      // An expired one has asked nobody.
      if (signIn.outcome === 'signed-in' || signIn.outcome === 'expired')
        attempts = attempts.filter((one) => one !== attempt)
      return signIn
    } finally {
      attempt.isRunning = false
    }
  }
}
