import { createOutageLog, type Logger, messageOf } from '@nextvisit/service-kit'
import * as openid from 'openid-client'
import { z } from 'zod'
import type { ConsoleConfig } from '../config.ts'
import type { Role } from '../http/define-route.ts'
import { createSharedRead } from '../shared-read.ts'
import { claimIn, type Claims, nameOfClaims, roleOfClaims } from './person-of-claims.ts'

/** Values that the browser keeps in a cookie during a sign-in. The answer of the provider must match them. */
export const SignInChecks = z.strictObject({ state: z.string(), nonce: z.string(), codeVerifier: z.string() })
export type SignInChecks = z.infer<typeof SignInChecks>

export type SignInOutcome =
  | { readonly outcome: 'signed-in'; readonly role: Role; readonly name: string; readonly subject: string }
  /** The provider knows the person, and gives them no role. */
  | { readonly outcome: 'no-role' }
  /** The answer belongs to no sign-in of this browser. */
  | { readonly outcome: 'expired' }
  /** The provider refuses the person, or its answer is not valid. */
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'unavailable' }

/** The OpenID Connect provider of an installation. */
export interface IdentityProvider {
  readonly isAvailable: () => Promise<boolean>
  /** Begins a sign-in. `asksAgain`: the provider asks for the account even if it has a session. */
  readonly begin: (
    asksAgain: boolean,
  ) => Promise<{ readonly address: string; readonly checks: SignInChecks } | undefined>
  /** Ends a sign-in with the parameters that the provider has sent. Each code works once. */
  readonly complete: (answer: URLSearchParams, checks: SignInChecks) => Promise<SignInOutcome>
  /** Address that signs the browser out at the provider; null: the provider has none. */
  readonly signOutAddress: () => Promise<string | null>
}

type OpenIdConfig = NonNullable<ConsoleConfig['openId']>

interface IdentityProviderParts {
  readonly openId: OpenIdConfig
  /** The console's address for browsers, with a slash at the end. */
  readonly base: URL
  readonly nowMs: () => number
  readonly logger: Logger
}

/** Below the console's address. The provider must know the whole address. */
export const CALLBACK_PATH = 'api/session/callback'
const ANSWERS_WITHIN_S = 5
/** Endpoints and keys of the provider are read again after this time. */
const REFRESH_MS = 3_600_000
const RETRY_MS = 5_000
const CLOCK_TOLERANCE_S = 30

/**
 * Creates the provider. It signs people in by the authorization code flow with PKCE. The signature of the ID token is checked
 * although it comes from the provider's own endpoint. No token is stored: role, name and subject are all that remains.
 */
export function createIdentityProvider({ openId, base, nowMs, logger }: IdentityProviderParts): IdentityProvider {
  const redirectUri = new URL(CALLBACK_PATH, base).href
  const outage = createOutageLog(logger, {
    began: 'the identity provider does not answer; nobody can sign in with it',
    ended: 'the identity provider answers again',
  })
  let known: { readonly configuration: openid.Configuration; readonly atMs: number } | undefined
  const discover = createSharedRead(() => readConfiguration(openId), RETRY_MS)

  /** Returns what was last known while the provider does not answer; undefined: nothing. */
  async function readKnown(): Promise<openid.Configuration | undefined> {
    if (known && nowMs() - known.atMs < REFRESH_MS) return known.configuration
    try {
      const configuration = await discover()
      known = { configuration, atMs: nowMs() }
      outage.end()
    } catch (error) {
      outage.begin({ issuer: openId.issuer.href, because: reasonOf(error) })
    }
    return known?.configuration
  }

  async function begin(asksAgain: boolean) {
    const configuration = await readKnown()
    if (!configuration) return undefined
    const checks = {
      state: openid.randomState(),
      nonce: openid.randomNonce(),
      codeVerifier: openid.randomPKCECodeVerifier(),
    }
    const address = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: openId.scopes,
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(checks.codeVerifier),
      code_challenge_method: 'S256',
      ...(asksAgain && { prompt: 'login' }),
    })
    return { address: address.href, checks }
  }

  async function complete(answer: URLSearchParams, checks: SignInChecks): Promise<SignInOutcome> {
    if (answer.get('state') !== checks.state) return { outcome: 'expired' }
    const configuration = await readKnown()
    if (!configuration) return { outcome: 'unavailable' }
    try {
      return personOf(await readClaims(configuration, answer, checks))
    } catch (error) {
      logger.warn({ because: reasonOf(error) }, 'a sign-in with the identity provider failed')
      return { outcome: isOutage(error) ? 'unavailable' : 'refused' }
    }
  }

  async function readClaims(
    configuration: openid.Configuration,
    answer: URLSearchParams,
    { state, nonce, codeVerifier }: SignInChecks,
  ): Promise<Claims & { readonly sub: string }> {
    const answered = new URL(redirectUri)
    answered.search = answer.toString()
    const tokens = await openid.authorizationCodeGrant(configuration, answered, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims) throw new TypeError('The provider sent no ID token.')
    const isWhole = claimIn(claims, openId.roles.claim) !== undefined && claims['name'] !== undefined
    if (isWhole || configuration.serverMetadata().userinfo_endpoint === undefined) return claims
    return { ...(await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims }
  }

  function personOf(claims: Claims & { readonly sub: string }): SignInOutcome {
    const role = roleOfClaims(claims, openId.roles)
    if (role) return { outcome: 'signed-in', role, name: nameOfClaims(claims), subject: claims.sub }
    const hasClaim = claimIn(claims, openId.roles.claim) !== undefined
    logger.warn({ subject: claims.sub, claim: openId.roles.claim, hasClaim }, 'a person without a role was refused')
    return { outcome: 'no-role' }
  }

  return {
    isAvailable: async () => (await readKnown()) !== undefined,
    begin,
    complete,
    signOutAddress: async () => {
      const configuration = await readKnown()
      if (configuration?.serverMetadata().end_session_endpoint === undefined) return null
      return openid.buildEndSessionUrl(configuration, { post_logout_redirect_uri: base.href }).href
    },
  }
}

async function readConfiguration({ issuer, clientId, clientSecret }: OpenIdConfig): Promise<openid.Configuration> {
  const configuration = await openid.discovery(
    issuer,
    clientId,
    { [openid.clockTolerance]: CLOCK_TOLERANCE_S },
    clientSecret === undefined ? openid.None() : withSecret(clientSecret),
    {
      timeout: ANSWERS_WITHIN_S,
      // Only an issuer on loopback may have http.
      execute: [
        openid.enableNonRepudiationChecks,
        ...(issuer.protocol === 'http:' ? [openid.allowInsecureRequests] : []),
      ],
    },
  )
  // openid-client accepts the issuers of every tenant for some addresses of Microsoft.
  if (new URL(configuration.serverMetadata().issuer).href !== issuer.href)
    throw new TypeError('The metadata of the provider names another issuer.')
  return configuration
}

/** Sends the secret in the header, the default of the standard, unless the provider takes it only in the body. */
function withSecret(secret: string): openid.ClientAuth {
  const [basic, post] = [openid.ClientSecretBasic(secret), openid.ClientSecretPost(secret)]
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported
    const send = !methods || methods.includes('client_secret_basic') ? basic : post
    return send(server, ...request)
  }
}

/** Of the standard. A stranger may have written any text into the address that ends a sign-in. */
const ERROR_CODE = /^[a-z_]{1,40}$/

/** Returns codes and words of the standard and of openid-client. They quote no token, and nothing about a person. */
function reasonOf(error: unknown): string {
  if (error instanceof openid.ResponseBodyError || error instanceof openid.AuthorizationResponseError)
    return ERROR_CODE.test(error.error) ? error.error : 'unknown'
  if (!(error instanceof Error)) return messageOf(error)
  const { cause } = error
  if (cause instanceof Response) return `${error.message}: ${cause.status}`
  if (error instanceof openid.ClientError) return cause instanceof Error ? cause.message : error.message
  return messageOf(cause instanceof Error ? cause : error)
}

/** The provider could not be reached, took too long, or answered with a server error. */
function isOutage(error: unknown): boolean {
  if (error instanceof openid.ClientError) return error.code === 'OAUTH_TIMEOUT' || isServerError(error.cause)
  return error instanceof TypeError && error.message === 'fetch failed'
}

function isServerError(cause: unknown): boolean {
  return cause instanceof Response && cause.status >= 500
}
