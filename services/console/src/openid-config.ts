import { z } from 'zod'

const HOSTS_ON_LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const ISSUER = 'must be an address like https://sso.example.com/realms/staff, with https unless it is on loopback'
const NEEDED = 'is needed with CONSOLE_OIDC_ISSUER'
const WITHOUT_ISSUER = 'has no effect without CONSOLE_OIDC_ISSUER'

/** Returns whether an address has https, or is on this machine. */
export function isSafeAddress(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol === 'https:' || (protocol === 'http:' && HOSTS_ON_LOOPBACK.has(hostname))
}

const values = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform((text) =>
      text
        .split(',')
        .map((value) => value.trim())
        .filter((value) => value !== ''),
    )

/** The settings of the sign-in with OpenID Connect, and the ways to sign in. */
export const openIdConfig = z
  .object({
    CONSOLE_TOKEN: z.string().optional(),
    CONSOLE_PUBLIC_URL: z.url().optional(),
    CONSOLE_OIDC_ISSUER: z
      .url({ error: ISSUER })
      .refine((address) => URL.canParse(address) && isSafeAddress(address), ISSUER)
      .optional(),
    CONSOLE_OIDC_CLIENT_ID: z.string().optional(),
    /** Absent: a public client, which PKCE alone protects. */
    CONSOLE_OIDC_CLIENT_SECRET: z.string().optional(),
    /** Name of the provider on the sign-in page. Default: its host. */
    CONSOLE_OIDC_NAME: z.string().max(60).optional(),
    CONSOLE_OIDC_SCOPES: z
      .string()
      .regex(
        /(^| )openid( |$)/,
        'must be scopes with spaces between them, such as openid profile email; openid is one of them',
      )
      .default('openid profile email'),
    /** Name or path of the claim that gives roles. */
    CONSOLE_OIDC_ROLES_CLAIM: z.string().optional(),
    CONSOLE_OIDC_OPERATORS: values('nextvisit-operator'),
    CONSOLE_OIDC_VIEWERS: values('nextvisit-viewer'),
    /** Role changes at the provider take effect after at most this time. */
    CONSOLE_OIDC_SESSION_MINUTES: z.coerce
      .number('must be a number of minutes')
      .int()
      .min(5, 'must be at least 5')
      .max(720, 'must be at most 720')
      .default(240),
  })
  .superRefine((env, context) => {
    const fault = (name: keyof typeof env, message: string) =>
      context.addIssue({ code: 'custom', path: [name], message })
    if (env.CONSOLE_OIDC_ISSUER === undefined) {
      if (env.CONSOLE_TOKEN === undefined)
        fault('CONSOLE_TOKEN', 'must be a secret of 16 characters or more, unless CONSOLE_OIDC_ISSUER is set')
      for (const name of ['CONSOLE_OIDC_CLIENT_ID', 'CONSOLE_OIDC_CLIENT_SECRET', 'CONSOLE_OIDC_ROLES_CLAIM'] as const)
        if (env[name] !== undefined) fault(name, WITHOUT_ISSUER)
      return
    }
    if (env.CONSOLE_OIDC_CLIENT_ID === undefined) fault('CONSOLE_OIDC_CLIENT_ID', NEEDED)
    if (env.CONSOLE_OIDC_ROLES_CLAIM === undefined) fault('CONSOLE_OIDC_ROLES_CLAIM', NEEDED)
    if (env.CONSOLE_PUBLIC_URL === undefined)
      fault('CONSOLE_PUBLIC_URL', `${NEEDED}: the provider returns people to it`)
    else if (URL.canParse(env.CONSOLE_PUBLIC_URL) && !isSafeAddress(env.CONSOLE_PUBLIC_URL))
      fault('CONSOLE_PUBLIC_URL', 'must have https with CONSOLE_OIDC_ISSUER, unless it is on loopback')
    const both = env.CONSOLE_OIDC_OPERATORS.filter((value) => env.CONSOLE_OIDC_VIEWERS.includes(value))
    if (both.length > 0) fault('CONSOLE_OIDC_VIEWERS', 'must have no value of CONSOLE_OIDC_OPERATORS')
  })
  .transform((env) => {
    const { CONSOLE_OIDC_ISSUER: issuer, CONSOLE_OIDC_CLIENT_ID: clientId, CONSOLE_OIDC_ROLES_CLAIM: claim } = env
    if (issuer === undefined || clientId === undefined || claim === undefined) return { openId: undefined }
    return {
      openId: {
        issuer: new URL(issuer),
        clientId,
        clientSecret: env.CONSOLE_OIDC_CLIENT_SECRET,
        name: env.CONSOLE_OIDC_NAME ?? new URL(issuer).host,
        scopes: env.CONSOLE_OIDC_SCOPES,
        roles: { claim, operators: env.CONSOLE_OIDC_OPERATORS, viewers: env.CONSOLE_OIDC_VIEWERS },
        sessionMs: env.CONSOLE_OIDC_SESSION_MINUTES * 60_000,
      },
    }
  })
