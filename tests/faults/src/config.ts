import { randomBytes } from 'node:crypto'

/** The variable with the secret of the endpoints of webhooks. */
export const HOOK_SECRET = 'CAMPAIGN_HOOK_SECRET'

/** Sets a new secret, which the workspace file names, unless there is one. */
export function provideHookSecret(): void {
  process.env[HOOK_SECRET] ??= `whsec_${randomBytes(32).toString('base64')}`
}
