import { isStorable, MAX_DISABLED_TRAIT_BYTES, NAME_CAPS } from '@nextvisit/contracts'
import { eventSlug, isReservedEventName } from '@nextvisit/domain'
import type { Fault } from './explain-issue.ts'
import { items, member, type YamlNode, text } from './yaml-node.ts'
import { checkAnswers } from './check-answers.ts'
import { checkContent } from './check-content.ts'
import { checkPropertyCounts } from './check-property-counts.ts'
import { checkSegments, leaves } from './check-segments.ts'
import { checkWebhook } from './check-webhook.ts'

const UNSTORABLE_TEXT = 'contains U+0000 or a lone surrogate (such as half of an emoji): remove it'

/**
 * Checks a workspace file beyond its shape: duplicate ids, references, cycles, forms that could never be shown (forms.md).
 * Checks as much as possible, even in a file with an invalid shape elsewhere.
 */
export function checkWorkspace(workspace: YamlNode): readonly Fault[] {
  const organizations = items(workspace, 'organizations')
  return [
    ...checkText(workspace),
    ...repeated(organizations, 'id', 'organization'),
    ...organizations.flatMap((organization) => {
      const projects = items(organization, 'projects')
      return [...repeated(projects, 'id', 'project'), ...projects.flatMap(checkProject)]
    }),
  ]
}

function checkProject(project: YamlNode): readonly Fault[] {
  const forms = items(project, 'forms')
  return [
    ...repeated(items(project, 'keys'), 'name', 'key'),
    ...items(project, 'keys').flatMap(checkMayErase),
    ...repeated(items(project, 'segments'), 'id', 'segment'),
    ...repeated(forms, 'id', 'form'),
    ...repeated(items(project, 'webhooks'), 'id', 'webhook'),
    ...items(project, 'webhooks').flatMap(checkWebhook),
    ...repeated(items(project, 'traits'), 'slug', 'trait'),
    ...repeated(items(project, 'events'), 'slug', 'event', eventSlug),
    ...items(project, 'events').flatMap((event) => checkEventName(event, 'slug')),
    ...checkCount(project, 'traits', NAME_CAPS.trait.bound),
    ...checkCount(project, 'events', NAME_CAPS.event.bound),
    ...checkDisabledTraits(project),
    ...checkSignature(project),
    ...checkSegments(project),
    ...items(project, 'segments').flatMap((segment) => checkEventNames(member(segment, 'where'))),
    ...checkAnswers(project),
    ...checkPropertyCounts(project),
    ...forms.flatMap(checkForm),
  ]
}

function checkMayErase(key: YamlNode): readonly Fault[] {
  const { path, value } = member(key, 'mayErase')
  if (value === undefined || text(key, 'kind') !== 'sdk') return []
  return [{ path, message: 'is only for admin keys, because every visitor can read a publishable key' }]
}

function checkForm(form: YamlNode): readonly Fault[] {
  return [
    ...items(form, 'triggers').flatMap((trigger) => checkEventName(trigger, 'event')),
    ...checkLifetime(form),
    ...checkEventNames(member(form, 'audience')),
    ...checkContent(form),
  ]
}

/** Reports every repetition of an earlier name. */
function repeated(
  places: readonly YamlNode[],
  key: string,
  noun: string,
  nameOf: (name: string) => string = (name) => name,
): readonly Fault[] {
  const seen = new Set<string>()
  return places.flatMap((place) => {
    const written = text(place, key)
    if (written === undefined) return []
    const name = nameOf(written)
    const isRepeated = seen.has(name)
    seen.add(name)
    return isRepeated ? [{ path: member(place, key).path, message: `${noun} ${written} is duplicated` }] : []
  })
}

/** Reports invalid event names in a condition. */
function checkEventNames(condition: YamlNode): readonly Fault[] {
  return leaves(condition, 'event').flatMap((leaf) => checkEventName(leaf, 'event'))
}

/** Reports event names that can never be tracked: those without a slug, and system events. */
function checkEventName(place: YamlNode, key: string): readonly Fault[] {
  const name = text(place, key)
  if (name === undefined || name === '') return []
  const { path } = member(place, key)
  if (isReservedEventName(name)) return [{ path, message: 'names a system event (form:…), which cannot be tracked' }]
  return eventSlug(name) === '' ? [{ path, message: 'must contain a letter or a digit' }] : []
}

function checkCount(project: YamlNode, key: 'traits' | 'events', max: number): readonly Fault[] {
  const { length } = items(project, key)
  if (length <= max) return []
  const message = `project ${text(project, 'id')} declares ${length} ${key}; the maximum is ${max}`
  return [{ path: member(project, key).path, message }]
}

/** Reports disabled traits that are too large in total, because every claim of the project's trait slugs carries them. */
function checkDisabledTraits(project: YamlNode): readonly Fault[] {
  const slugs = items(project, 'traits').flatMap((trait) => {
    const slug = text(trait, 'slug')
    return slug !== undefined && member(trait, 'enabled').value === false ? [slug] : []
  })
  const bytes = Buffer.byteLength(JSON.stringify(slugs))
  if (bytes <= MAX_DISABLED_TRAIT_BYTES) return []
  const message =
    `project ${text(project, 'id')} disables ${slugs.length} traits whose slugs have ${bytes} bytes as JSON; ` +
    `the maximum is ${MAX_DISABLED_TRAIT_BYTES}`
  return [{ path: member(project, 'traits').path, message }]
}

function checkLifetime(form: YamlNode): readonly Fault[] {
  const startsAt = Date.parse(text(form, 'startsAt') ?? '')
  const endsAt = Date.parse(text(form, 'endsAt') ?? '')
  if (!(endsAt <= startsAt)) return []
  return [{ path: member(form, 'endsAt').path, message: 'must be after startsAt' }]
}

function checkSignature(project: YamlNode): readonly Fault[] {
  const { path, value } = member(project, 'requireUserSignature')
  if (value !== true || member(project, 'signingSecret').value !== undefined) return []
  return [{ path, message: 'needs a signingSecret; otherwise every visit would be refused' }]
}

/** Reports text that no record may contain (record-codec.ts): every process would refuse the whole organization. */
function checkText({ path, value }: YamlNode): readonly Fault[] {
  if (typeof value === 'string') return isStorable(value) ? [] : [{ path, message: UNSTORABLE_TEXT }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) =>
    checkText({ path: [...path, Array.isArray(value) ? Number(name) : name], value: item }),
  )
}
