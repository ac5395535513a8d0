import type { ChangeLine } from '../../../src/changes/api.ts'

/** Each kind of change in words. */
export const KINDS: { readonly [Kind in ChangeLine['kind']]: string } = {
  'workspace.apply': 'Workspace file applied',
  'users.erase': 'Users erased',
  'suppression.lift': 'Suppression lifted',
  'dead-letters.retry': 'Dead letters retried',
  'dead-letters.discard': 'Dead letters discarded',
  'record.set-aside': 'Record set aside',
  'consumer.replay': 'Read models replayed',
  'consumer.stop-replay': 'Replay stopped',
  'webhook.replay': 'Webhook replayed',
  'webhook.retry': 'Webhook deliveries retried',
  'webhook.test': 'Webhook tested',
  'webhook.enable': 'Webhook enabled',
  'person.export': 'Person exported',
  'answers.export': 'Answers exported',
  'records.export': 'Records exported',
  'history.import': 'History imported',
}

/** Returns the kind of a filter in an address; undefined: no such kind. */
export function kindOf(text: unknown): ChangeLine['kind'] | undefined {
  return typeof text === 'string' && Object.hasOwn(KINDS, text) ? (text as ChangeLine['kind']) : undefined
}

/** Returns the facts of a change, each with its name in words: `erasureId` is `erasure id`, `isRemoval` is `removal`. */
export function factsOf({ details }: Pick<ChangeLine, 'details'>): readonly string[] {
  return Object.entries(details).map(([name, value]) => {
    const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/^is /, '')
    return `${words}: ${typeof value === 'boolean' ? (value ? 'yes' : 'no') : value}`
  })
}

/** Returns the author of a change, and how far the name is certain. */
export function authorOf({ actor: { kind, name, isVerified, via } }: Pick<ChangeLine, 'actor'>): {
  readonly name: string
  readonly note: string
} {
  if (kind === 'key') return { name: `Key ${name}`, note: 'admin key' }
  if (kind === 'command') return { name, note: `command${via === undefined ? '' : ` by ${via}`}, name not verified` }
  return { name, note: isVerified ? 'console, name verified' : 'console with a token, name not verified' }
}
