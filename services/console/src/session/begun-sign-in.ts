import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { SignInChecks } from './identity-provider.ts'

const Begun = z.strictObject({ checks: SignInChecks, returnTo: z.string(), untilMs: z.number() })
type BegunSignIn = Pick<z.infer<typeof Begun>, 'checks' | 'returnTo'>

/** Writes and reads the text that a browser keeps in a cookie during a sign-in. */
export interface BegunSignIns {
  readonly write: (begun: BegunSignIn) => string
  /** Returns undefined for a text that no console of this installation has written, or not lately. */
  readonly read: (text: string | undefined) => BegunSignIn | undefined
}

interface BegunSignInsParts {
  /** Every console of the installation knows them. The first signs, all are accepted. */
  readonly secrets: readonly string[]
  readonly lastsMs: number
  readonly nowMs: () => number
}

const PURPOSE = 'nextvisit console: begun sign-in'

/** Creates the texts of begun sign-ins. They are signed: a forged one must cause no request to the identity provider. */
export function createBegunSignIns({ secrets, lastsMs, nowMs }: BegunSignInsParts): BegunSignIns {
  const keys = secrets.map((secret) => createHmac('sha256', secret).update(PURPOSE).digest())
  const signaturesOf = (json: string) => keys.map((key) => createHmac('sha256', key).update(json).digest())

  return {
    write: (begun) => {
      const json = JSON.stringify({ ...begun, untilMs: nowMs() + lastsMs })
      return `${signaturesOf(json)[0]?.toString('base64url')}.${json}`
    },
    read: (text = '') => {
      const [, given = '', json = ''] = /^([\w-]{43})\.([^]*)$/.exec(text) ?? []
      const signature = Buffer.from(given, 'base64url')
      const isSigned = signaturesOf(json).some(
        (one) => one.length === signature.length && timingSafeEqual(one, signature),
      )
      if (!isSigned) return undefined
      const begun = Begun.safeParse(JSON.parse(json)).data
      return begun && begun.untilMs > nowMs() ? { checks: begun.checks, returnTo: begun.returnTo } : undefined
    },
  }
}
