import { Environment, KeyKind } from '@nextvisit/contracts'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { hashApiKey, MAX_SIGNING_SECRETS, parseApiKey, parseWebhookSecret, signingSecretsIn } from '@nextvisit/domain'
import { SECRET_KEY_VARIABLE } from '@nextvisit/sealing'
import { readKeyRing } from '../environment/key-ring.ts'
import type { Fault } from './explain-issue.ts'
import { items, member, type YamlNode, text } from './yaml-node.ts'

const REFERENCE = /^\$[A-Z_][A-Z0-9_]*$/

/** Returns the value of `$NAME`; undefined if the variable is missing or empty, or the text is not such a reference. */
export function valueOf(reference: string | undefined, env: EnvironmentVariables): string | undefined {
  if (reference === undefined || !REFERENCE.test(reference)) return undefined
  return env[reference.slice(1)] || undefined
}

/** Reports secrets that are missing or differ from their declaration, and duplicate keys. */
export function checkSecrets(workspace: YamlNode, env: EnvironmentVariables): readonly Fault[] {
  const projects = items(workspace, 'organizations').flatMap((organization) => items(organization, 'projects'))
  const keys = projects.flatMap((project) => items(project, 'keys'))
  return [
    ...keys.flatMap((key) => checkKey(key, env)),
    ...checkRepeatedKeys(keys, env),
    ...projects.flatMap((project) => checkSigningSecret(project, env)),
    ...projects.flatMap((project) => items(project, 'webhooks')).flatMap((webhook) => checkWebhookSecret(webhook, env)),
  ]
}

function checkKey(key: YamlNode, env: EnvironmentVariables): readonly Fault[] {
  const { path } = member(key, 'secret')
  const reference = text(key, 'secret')
  if (reference === undefined || !REFERENCE.test(reference)) return []
  const value = valueOf(reference, env)
  if (value === undefined) return [missing(path, reference)]
  // An invalid kind or environment is reported elsewhere and cannot be compared.
  const [kind, environment] = [KeyKind.safeParse(text(key, 'kind')), Environment.safeParse(text(key, 'environment'))]
  if (!kind.success || !environment.success) return []
  const parsed = parseApiKey(value)
  if (parsed === undefined)
    return [{ path, message: `${reference} does not hold a key: create one with nextvisit keys create` }]
  if (kind.data === parsed.kind && environment.data === parsed.environment) return []
  const held = `${parsed.kind} key for environment ${parsed.environment}`
  return [{ path, message: `${reference} holds an ${held}, but kind and environment differ` }]
}

function checkRepeatedKeys(keys: readonly YamlNode[], env: EnvironmentVariables): readonly Fault[] {
  const firstByHash = new Map<string, string>()
  return keys.flatMap((key) => {
    const secret = valueOf(text(key, 'secret'), env)
    const hash = secret === undefined ? text(key, 'sha256') : hashApiKey(secret)
    if (hash === undefined) return []
    const first = firstByHash.get(hash)
    if (first === undefined) firstByHash.set(hash, text(key, 'name') ?? '?')
    return first === undefined ? [] : [{ path: key.path, message: `is the same key as ${first}; create another` }]
  })
}

function checkSigningSecret(project: YamlNode, env: EnvironmentVariables): readonly Fault[] {
  const { path } = member(project, 'signingSecret')
  const value = valueOf(text(project, 'signingSecret'), env)
  const parts = value?.split(',') ?? []
  const isGood = parts.length <= MAX_SIGNING_SECRETS && signingSecretsIn(value ?? '').length === parts.length
  const message = `must hold one secret, or up to ${MAX_SIGNING_SECRETS} separated by commas during a rotation; none may be empty`
  return [...checkEncrypted(project, 'signingSecret', env), ...(isGood ? [] : [{ path, message }])]
}

function checkWebhookSecret(webhook: YamlNode, env: EnvironmentVariables): readonly Fault[] {
  const { path } = member(webhook, 'secret')
  const reference = text(webhook, 'secret')
  const value = valueOf(reference, env)
  const message =
    `${reference} does not hold a secret of a webhook, whsec_ and base64 of 24 to 64 bytes: create one with ` +
    'nextvisit webhooks create-secret'
  return [
    ...checkEncrypted(webhook, 'secret', env),
    ...(value !== undefined && parseWebhookSecret(value) === undefined ? [{ path, message }] : []),
  ]
}

/** Checks a secret that the catalog has encrypted. */
function checkEncrypted(place: YamlNode, name: string, env: EnvironmentVariables): readonly Fault[] {
  const { path } = member(place, name)
  const reference = text(place, name)
  if (reference === undefined || !REFERENCE.test(reference)) return []
  const ring = readKeyRing(env)
  const needed = `${SECRET_KEY_VARIABLE} must be set to 32 bytes as 64 hex characters, to encrypt this secret`
  return [
    ...(valueOf(reference, env) === undefined ? [missing(path, reference)] : []),
    ...(ring.outcome === 'absent' ? [{ path, message: needed }] : []),
    ...(ring.outcome === 'invalid' ? [{ path, message: ring.message }] : []),
  ]
}

function missing(path: Fault['path'], reference: string): Fault {
  return { path, message: `the environment variable ${reference.slice(1)} is not set` }
}
