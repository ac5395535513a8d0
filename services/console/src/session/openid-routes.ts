import { Router } from 'express'
import type { ConsoleConfig } from '../config.ts'
import { NoSessionsError } from '../http/sessions.ts'
import { SIGN_IN_MS, type Site } from '../http/site.ts'
import { BEGIN_SIGN_IN_PATH, type SignInProblem } from '../shared-with-pages.ts'
import { createBegunSignIns } from './begun-sign-in.ts'
import { CALLBACK_PATH, type IdentityProvider } from './identity-provider.ts'
import { createLimitedSignIns } from './limited-sign-ins.ts'
import type { OpenSession } from './open-session.ts'
import { returnAddress } from './return-address.ts'

export interface OpenId extends NonNullable<ConsoleConfig['openId']> {
  /** The console's address for browsers, with a slash at the end. */
  readonly base: URL
  readonly provider: IdentityProvider
  /** Secrets that every console of the installation knows, the newest first. */
  readonly secrets: readonly string[]
}

interface OpenIdRouterParts {
  readonly site: Site
  readonly openId: OpenId
  readonly openSession: OpenSession
  readonly nowMs: () => number
}

/**
 * Creates the two addresses to which pages lead during a sign-in: away to the provider, and back. Both answer with redirects. A
 * signed cookie of the browser holds the begun sign-in, so any process of the console can end it.
 */
export function createOpenIdRouter({ site, openId, openSession, nowMs }: OpenIdRouterParts): Router {
  const { provider, base, sessionMs, secrets } = openId
  const begunSignIns = createBegunSignIns({ secrets, lastsMs: SIGN_IN_MS, nowMs })
  const limited = createLimitedSignIns(nowMs)
  const router = Router()

  router.get(belowApi(BEGIN_SIGN_IN_PATH), async (request, response) => {
    const returnTo = returnAddress(base, request.query['return'])
    const begun = await provider.begin(request.query['again'] === '1')
    if (!begun) return response.redirect(303, withProblem(returnTo, 'unavailable'))
    site.signInCookie.set(request, response, begunSignIns.write({ checks: begun.checks, returnTo }))
    response.redirect(303, begun.address)
  })

  router.get(belowApi(CALLBACK_PATH), async (request, response) => {
    const begun = begunSignIns.read(site.signInCookie.of(request))
    site.signInCookie.clear(request, response)
    const returnTo = returnAddress(base, begun?.returnTo)
    const leave = (problem: SignInProblem) => response.redirect(303, withProblem(returnTo, problem))
    if (!begun) return leave('expired')
    const answer = new URLSearchParams(request.url.split('?')[1] ?? '')
    const { address } = site.callerOf(request)
    const signIn = await limited(address, () => provider.complete(answer, begun.checks))
    if (signIn.outcome !== 'signed-in') return leave(signIn.outcome)
    const { outcome: _, ...person } = signIn
    try {
      await openSession(request, response, { ...person, isVerified: true, lastsMs: sessionMs })
    } catch (error) {
      if (error instanceof NoSessionsError) return leave('no-sessions')
      throw error
    }
    response.redirect(303, returnTo)
  })

  return router
}

/** Returns a path as the router sees it, which serves what is below `api`. */
function belowApi(path: string): string {
  return path.replace(/^api/, '')
}

function withProblem(address: string, problem: SignInProblem): string {
  const url = new URL(address)
  url.searchParams.set('problem', problem)
  return url.href
}
