import {
  decryptSigningSecret,
  decryptWebhookSecret,
  type DecryptedSecret,
  type EndpointRef,
  encryptWebhookSecret,
} from '@nextvisit/catalog'
import type { OrganizationConfig, ProjectConfig, ProjectRef, Webhook } from '@nextvisit/contracts'
import { type KeyRing, sealedWith } from '@nextvisit/sealing'

/** Time for which the previous secret of a webhook signs as well. */
const BOTH_SIGN_MS = 24 * 3_600_000

/** A secret that is only encrypted again. */
export interface ReencryptedSecret {
  readonly project: string
  /** `signingSecret`, or `webhook crm secret`. */
  readonly what: string
}

/** Two configurations of an organization, with comparable secrets. */
interface SettledSecrets {
  /** The configuration of the catalog, for a comparison. A secret that is only re-encrypted does not differ. */
  readonly held: OrganizationConfig
  readonly wanted: OrganizationConfig
  /** The unchanged secrets that move to the newest key. */
  readonly reencrypted: readonly ReencryptedSecret[]
}

interface Settling {
  readonly keyRing: KeyRing | undefined
  readonly now: Date
}

/**
 * Compares the secrets of a file with those of the catalog, because encrypting a secret again gives another ciphertext. An
 * unchanged secret keeps its ciphertext if the newest key encrypts it; else it takes the file's. The previous secret of a
 * webhook is kept for 24 h. A webhook whose id stays keeps its `addedAt`.
 */
export function settleSecrets(
  held: OrganizationConfig,
  wanted: OrganizationConfig,
  keyRing: KeyRing | undefined,
  now: Date,
): SettledSecrets {
  const before = new Map(held.projects.map((project) => [project.id, project]))
  const settled = new Map(
    wanted.projects.flatMap((project) => {
      const own = before.get(project.id)
      return own ? [[project.id, settleProject(wanted.id, own, project, { keyRing, now })] as const] : []
    }),
  )
  return {
    held: { ...held, projects: held.projects.map((project) => settled.get(project.id)?.held ?? project) },
    wanted: { ...wanted, projects: wanted.projects.map((project) => settled.get(project.id)?.wanted ?? project) },
    reencrypted: [...settled].flatMap(([project, { reencrypted }]) => reencrypted.map((what) => ({ project, what }))),
  }
}

interface Settled<Part> {
  readonly held: Part
  readonly wanted: Part
  readonly reencrypted: readonly string[]
}

function settleProject(
  organization: string,
  held: ProjectConfig,
  wanted: ProjectConfig,
  settling: Settling,
): Settled<ProjectConfig> {
  const place: ProjectRef = { organization, project: wanted.id }
  const signing = settleSecret(held.signingSecret, wanted.signingSecret, settling, (secret) =>
    decryptSigningSecret(secret, settling.keyRing, place),
  )
  const before = new Map(held.webhooks.map((webhook) => [webhook.id, webhook]))
  const webhooks = new Map(
    wanted.webhooks.flatMap((webhook) => {
      const own = before.get(webhook.id)
      return own ? [[webhook.id, settleWebhook(own, webhook, place, settling)] as const] : []
    }),
  )
  return {
    held: {
      ...held,
      signingSecret: signing.held,
      webhooks: held.webhooks.map((webhook) => webhooks.get(webhook.id)?.held ?? webhook),
    },
    wanted: {
      ...wanted,
      signingSecret: signing.wanted,
      webhooks: wanted.webhooks.map((webhook) => webhooks.get(webhook.id)?.wanted ?? webhook),
    },
    reencrypted: [
      ...(signing.verdict === 'reencrypted' ? ['signingSecret'] : []),
      ...[...webhooks].flatMap(([id, { reencrypted }]) => reencrypted.map((what) => `webhook ${id} ${what}`)),
    ],
  }
}

function settleWebhook(held: Webhook, wanted: Webhook, place: ProjectRef, settling: Settling): Settled<Webhook> {
  const endpoint: EndpointRef = { ...place, endpointId: wanted.id }
  const decrypt = (secret: string) => decryptWebhookSecret(secret, settling.keyRing, endpoint)
  const secret = settleSecret(held.secret, wanted.secret, settling, decrypt)
  const { previousSecret: heldPrevious, ...heldRest } = held
  const running = heldPrevious && Date.parse(heldPrevious.until) > settling.now.getTime() ? heldPrevious : undefined
  const moved =
    running && settleSecret(running.secret, moveToNewest(running.secret, endpoint, settling), settling, decrypt)
  const previous =
    secret.verdict === 'another'
      ? {
          secret: moveToNewest(held.secret, endpoint, settling),
          until: new Date(settling.now.getTime() + BOTH_SIGN_MS).toISOString(),
        }
      : running && moved && { ...running, secret: moved.wanted }
  const heldRunning = running && moved && { ...running, secret: moved.held }
  return {
    // A previous secret that no longer signs makes no difference, but leaves the catalog with the next one.
    held: { ...heldRest, secret: secret.held, ...(heldRunning && { previousSecret: heldRunning }) },
    wanted: {
      ...wanted,
      secret: secret.wanted,
      addedAt: held.addedAt,
      ...(previous && { previousSecret: previous }),
    },
    reencrypted: [
      ...(secret.verdict === 'reencrypted' ? ['secret'] : []),
      ...(secret.verdict !== 'another' && moved?.verdict === 'reencrypted' ? ['previousSecret'] : []),
    ],
  }
}

/** Encrypts a secret of the catalog with the newest key, if this ring can decrypt it. */
function moveToNewest(encrypted: string, endpoint: EndpointRef, { keyRing }: Settling): string {
  if (!keyRing || sealedWith(encrypted) === keyRing.newestKeyId) return encrypted
  const decrypted = decryptWebhookSecret(encrypted, keyRing, endpoint)
  return decrypted.outcome === 'decrypted' ? encryptWebhookSecret(decrypted.secret, keyRing, endpoint) : encrypted
}

/** `unknown`: there are not two secrets, or the held one cannot be decrypted. */
type Verdict = 'kept' | 'reencrypted' | 'another' | 'unknown'

interface SettledSecret<Text extends string | undefined> {
  readonly held: Text
  readonly wanted: Text
  readonly verdict: Verdict
}

function settleSecret<Text extends string | undefined>(
  held: Text,
  wanted: Text,
  { keyRing }: Settling,
  decrypt: (encrypted: string) => DecryptedSecret,
): SettledSecret<Text> {
  const verdict = compareSecrets(held, wanted, keyRing, decrypt)
  return {
    verdict,
    // Without a key, so that it reads as another secret even if it is under another key.
    held: verdict === 'reencrypted' ? wanted : verdict === 'another' ? ('' as Text) : held,
    wanted: verdict === 'kept' ? held : wanted,
  }
}

function compareSecrets(
  held: string | undefined,
  wanted: string | undefined,
  keyRing: KeyRing | undefined,
  decrypt: (encrypted: string) => DecryptedSecret,
): Verdict {
  if (held === undefined || wanted === undefined || !keyRing) return 'unknown'
  const [before, after] = [decrypt(held), decrypt(wanted)]
  if (before.outcome !== 'decrypted' || after.outcome !== 'decrypted') return 'unknown'
  if (before.secret !== after.secret) return 'another'
  return sealedWith(held) === keyRing.newestKeyId ? 'kept' : 'reencrypted'
}
