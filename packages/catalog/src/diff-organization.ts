import { isDeepStrictEqual } from 'node:util'
import {
  firstCharacters,
  type Form,
  type FormContentRef,
  isLongerThan,
  type OrganizationConfig,
  type ProjectConfig,
  type Webhook,
} from '@nextvisit/contracts'
import { sealedWith } from '@nextvisit/sealing'

/** One change of an organization by an apply. */
export interface Change {
  readonly sign: '+' | '~' | '-'
  /** `acme` or `acme/shop`. */
  readonly where: string
  /** `form nps`, `plan.eventsPerMonth 100 → 200`, `key backend (revoked)`. */
  readonly what: string
}

/** Formats a change: `~ acme plan.eventsPerMonth 100 → 200`. */
export function changeLine({ sign, where, what }: Change): string {
  return `${sign} ${where} ${what}`
}

/** Returns the content of a form in words, such as `3 elements, en, de`. undefined: it is not known. */
export type DescribeContent = (project: string, formId: string, ref: FormContentRef) => string | undefined

/** Returns the changes that applying `wanted` would make, in a fixed order. */
export function diffOrganization(
  id: string,
  held: OrganizationConfig | null | undefined,
  wanted: OrganizationConfig | null,
  describeContent: DescribeContent = () => undefined,
): readonly Change[] {
  if (!wanted) return held ? [{ sign: '-', where: id, what: 'organization' }] : []
  const own: readonly Change[] = held ? [] : [{ sign: '+', where: id, what: 'organization' }]
  const projects = diffNamed(held?.projects ?? [], wanted.projects, (project) => project.id)
  return [
    ...own,
    ...membersOf({ plan: held?.plan ?? {} }, { plan: wanted.plan }).map(
      (what): Change => ({ sign: '~', where: id, what }),
    ),
    ...projects.flatMap(({ name, before, after }): readonly Change[] => {
      const where = `${id}/${name}`
      if (!after) return [{ sign: '-', where, what: `project${before?.keys.length ? ' (its keys are revoked)' : ''}` }]
      const added: readonly Change[] = before ? [] : [{ sign: '+', where, what: 'project' }]
      return [...added, ...diffProject(where, before, after, describeContent)]
    }),
  ]
}

function diffProject(
  where: string,
  held: ProjectConfig | undefined,
  wanted: ProjectConfig,
  describeContent: DescribeContent,
): readonly Change[] {
  const { keys, segments, forms, traits, events, webhooks, signingSecret, ...settings } = wanted
  const before = held && settingsOf(held)
  // The settings of a new project are part of its own line.
  const changed = before ? membersOf(before, settings) : []
  const membersOfForm = ({ content: from, ...ours }: Form, { content: to, ...theirs }: Form): readonly string[] => {
    if (isDeepStrictEqual(from, to)) return membersOf(ours, theirs)
    const shownContent = to ? (describeContent(wanted.id, theirs.id, to) ?? 'another one') : 'removed'
    return [...membersOf(ours, theirs), `content (${shownContent})`]
  }
  const contentOfNew = ({ id, content }: Form): string => {
    const shownContent = content && describeContent(wanted.id, id, content)
    return `${content ? ' with content' : ''}${shownContent === undefined ? '' : ` (${shownContent})`}`
  }
  return [
    ...changed.map((what): Change => ({ sign: '~', where, what })),
    ...diffSigningSecret(where, held?.signingSecret, signingSecret),
    ...diffList(where, 'key', held?.keys ?? [], keys, (key) => key.name),
    ...diffList(where, 'segment', held?.segments ?? [], segments, (segment) => segment.id),
    ...diffList(where, 'form', held?.forms ?? [], forms, (form) => form.id, membersOfForm, contentOfNew),
    ...diffList(where, 'trait', held?.traits ?? [], traits, (trait) => trait.slug),
    ...diffList(where, 'event', held?.events ?? [], events, (event) => event.slug),
    ...diffList(where, 'webhook', held?.webhooks ?? [], webhooks, (webhook) => webhook.id, membersOfWebhook),
  ]
}

function settingsOf(project: ProjectConfig): object {
  const {
    keys: _k,
    segments: _s,
    forms: _f,
    traits: _t,
    events: _e,
    webhooks: _w,
    signingSecret: _g,
    ...settings
  } = project
  return settings
}

/** Reports a changed signing secret, never its value. Under another key, the secret itself may be the same. */
function diffSigningSecret(where: string, held: string | undefined, wanted: string | undefined): readonly Change[] {
  if (held === wanted) return []
  if (held === undefined) return [{ sign: '+', where, what: 'signingSecret' }]
  if (wanted === undefined) return [{ sign: '-', where, what: 'signingSecret' }]
  return [{ sign: '~', where, what: `signingSecret (${newKeyOf(held, wanted) ?? 'another one'})` }]
}

/** Returns the changes of a webhook, never a secret. */
function membersOfWebhook(
  { secret: held, previousSecret: heldPrevious, ...before }: Webhook,
  { secret: wanted, previousSecret: wantedPrevious, ...after }: Webhook,
): readonly string[] {
  const isAnother = wantedPrevious !== undefined && wantedPrevious.until !== heldPrevious?.until
  const replaced = [
    'another one',
    ...(isAnother ? [`the one before signs until ${wantedPrevious.until}`] : []),
    ...(isAnother && heldPrevious ? ['the one before that no longer signs'] : []),
  ].join('; ')
  const secret = held === wanted ? [] : [`secret (${(isAnother ? undefined : newKeyOf(held, wanted)) ?? replaced})`]
  const previous =
    isAnother || heldPrevious === undefined || heldPrevious.secret === wantedPrevious?.secret
      ? []
      : [
          `previousSecret (${wantedPrevious ? (newKeyOf(heldPrevious.secret, wantedPrevious.secret) ?? 'another one') : 'no longer signs'})`,
        ]
  return [
    ...membersOfUrl(before.url, after.url),
    ...membersOf({ ...before, url: '' }, { ...after, url: '' }),
    ...secret,
    ...previous,
  ]
}

/** Shows hosts only: paths and queries of receivers often are secrets. */
function membersOfUrl(held: string, wanted: string): readonly string[] {
  if (held === wanted) return []
  const [from, to] = [hostOf(held), hostOf(wanted)]
  return [from === to ? `url (another one at ${to})` : `url ${from} → ${to}`]
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : '(no host)'
}

/** Returns that another key encrypts a secret, which may itself be the same. undefined: the key is the same. */
function newKeyOf(held: string, wanted: string): string | undefined {
  const [before, after] = [sealedWith(held), sealedWith(wanted)]
  return before !== undefined && after !== undefined && before !== after ? `encrypted with key ${after}` : undefined
}

/** The effect of a removal, by the noun of the part. */
const REMOVED: Partial<Record<string, string>> = { key: ' (revoked)', webhook: ' (its deliveries are forgotten)' }

function diffList<Item extends object>(
  where: string,
  noun: string,
  held: readonly Item[],
  wanted: readonly Item[],
  nameOf: (item: Item) => string,
  changedIn: (before: Item, after: Item) => readonly string[] = membersOf,
  detailsOfNew: (item: Item) => string = () => '',
): readonly Change[] {
  return diffNamed(held, wanted, nameOf).flatMap(({ name, before, after }): readonly Change[] => {
    if (!after) return [{ sign: '-', where, what: `${noun} ${name}${REMOVED[noun] ?? ''}` }]
    if (!before) return [{ sign: '+', where, what: `${noun} ${name}${detailsOfNew(after)}` }]
    return changedIn(before, after).map((what) => ({ sign: '~', where, what: `${noun} ${name} ${what}` }))
  })
}

/** Pairs items by name, in the order of the file, removed ones last. The order within the lists has no meaning. */
function diffNamed<Item>(held: readonly Item[], wanted: readonly Item[], nameOf: (item: Item) => string) {
  const before = new Map(held.map((item) => [nameOf(item), item]))
  const after = new Map(wanted.map((item) => [nameOf(item), item]))
  const names = new Set([...after.keys(), ...before.keys()])
  return [...names].map((name) => ({ name, before: before.get(name), after: after.get(name) }))
}

/** Returns `priority 0 → 10` for each member that differs, with the path of nested settings. */
function membersOf(before: object, after: object, path = ''): readonly string[] {
  const held = new Map(Object.entries(before))
  const wanted = new Map(Object.entries(after))
  return [...new Set([...held.keys(), ...wanted.keys()])].flatMap((name) => {
    const [from, to] = [held.get(name), wanted.get(name)] as [unknown, unknown]
    if (isDeepStrictEqual(from, to)) return []
    const whole = path === '' ? name : `${path}.${name}`
    if (isSettings(from) && isSettings(to) && NESTED.has(name)) return membersOf(from, to, whole)
    return [HIDDEN.has(name) ? `${whole} (another one)` : `${whole} ${shown(from)} → ${shown(to)}`]
  })
}

/** Members whose own members are settings. Any other object is shown as a whole. */
const NESTED = new Set(['plan', 'sdk', 'rateLimits', 'admin', 'frequency', 'cooldown'])

/** The hash of a key: harmless, but of no use to a reader. */
const HIDDEN = new Set(['sha256'])

function isSettings(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const SHOWN_CHARACTERS = 80

function shown(value: unknown): string {
  if (value === undefined) return '(none)'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return isLongerThan(text, SHOWN_CHARACTERS) ? `${firstCharacters(text, SHOWN_CHARACTERS)}…` : text
}
