import { MAX_DISABLED_TRAIT_BYTES, MAX_EVENT_NAMES, MAX_TRAIT_SLUGS } from '@nextvisit/contracts'
import { eventSlug, isReservedEventName } from '@nextvisit/domain'
import type { Problem } from './explain-issue.ts'
import { items, member, type YamlNode, text } from './yaml-node.ts'
import { checkPropertyCounts } from './check-property-counts.ts'
import { checkSegments, leaves } from './check-segments.ts'
import { checkText } from './check-text.ts'

/**
 * What the shape of a workspace file does not show: ids that are there twice, references, cycles, forms that could never
 * be shown (forms.md). Judges whatever can be judged, also in a file whose shape is at fault elsewhere.
 */
export function checkWorkspace(workspace: YamlNode): readonly Problem[] {
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

function checkProject(project: YamlNode): readonly Problem[] {
  const forms = items(project, 'forms')
  return [
    ...repeated(items(project, 'keys'), 'name', 'key'),
    ...repeated(items(project, 'segments'), 'id', 'segment'),
    ...repeated(forms, 'id', 'form'),
    ...repeated(items(project, 'traits'), 'slug', 'trait'),
    ...repeated(items(project, 'events'), 'slug', 'event', eventSlug),
    ...items(project, 'events').flatMap((event) => checkEventName(event, 'slug')),
    ...checkCount(project, 'traits', MAX_TRAIT_SLUGS),
    ...checkCount(project, 'events', MAX_EVENT_NAMES),
    ...checkDisabledTraits(project),
    ...checkSignature(project),
    ...checkSegments(project),
    ...items(project, 'segments').flatMap((segment) => checkEventNames(member(segment, 'where'))),
    ...checkPropertyCounts(project),
    ...forms.flatMap(checkForm),
  ]
}

function checkForm(form: YamlNode): readonly Problem[] {
  return [
    ...items(form, 'triggers').flatMap((trigger) => checkEventName(trigger, 'event')),
    ...checkLifetime(form),
    ...checkEventNames(member(form, 'audience')),
  ]
}

/** Every one after the first that has the same name as one before it. */
function repeated(
  places: readonly YamlNode[],
  key: string,
  noun: string,
  nameOf: (name: string) => string = (name) => name,
): readonly Problem[] {
  const seen = new Set<string>()
  return places.flatMap((place) => {
    const written = text(place, key)
    if (written === undefined) return []
    const name = nameOf(written)
    const isRepeated = seen.has(name)
    seen.add(name)
    return isRepeated ? [{ path: member(place, key).path, message: `${noun} ${written} is there twice` }] : []
  })
}

/** Of all events in a condition. */
function checkEventNames(condition: YamlNode): readonly Problem[] {
  return leaves(condition, 'event').flatMap((leaf) => checkEventName(leaf, 'event'))
}

/** An event's identity is its slug, so a name without one could never be tracked; nor could a system event. */
function checkEventName(place: YamlNode, key: string): readonly Problem[] {
  const name = text(place, key)
  if (name === undefined || name === '') return []
  const { path } = member(place, key)
  if (isReservedEventName(name)) return [{ path, message: 'names a system event (form:…), which is never tracked' }]
  return eventSlug(name) === '' ? [{ path, message: 'must have a letter or a digit' }] : []
}

function checkCount(project: YamlNode, key: 'traits' | 'events', max: number): readonly Problem[] {
  const { length } = items(project, key)
  if (length <= max) return []
  const message = `project ${text(project, 'id')} declares ${length} ${key}; a project may declare at most ${max}`
  return [{ path: member(project, key).path, message }]
}

/** Every claim of the project's trait slugs carries them: a claim that is too large is refused. */
function checkDisabledTraits(project: YamlNode): readonly Problem[] {
  const slugs = items(project, 'traits').flatMap((trait) => {
    const slug = text(trait, 'slug')
    return slug !== undefined && member(trait, 'enabled').value === false ? [slug] : []
  })
  const bytes = Buffer.byteLength(JSON.stringify(slugs))
  if (bytes <= MAX_DISABLED_TRAIT_BYTES) return []
  const message =
    `project ${text(project, 'id')} disables ${slugs.length} traits whose slugs have ${bytes} bytes as JSON; ` +
    `they may have at most ${MAX_DISABLED_TRAIT_BYTES}`
  return [{ path: member(project, 'traits').path, message }]
}

function checkLifetime(form: YamlNode): readonly Problem[] {
  const startsAt = Date.parse(text(form, 'startsAt') ?? '')
  const endsAt = Date.parse(text(form, 'endsAt') ?? '')
  if (!(endsAt <= startsAt)) return []
  return [{ path: member(form, 'endsAt').path, message: 'must be after startsAt' }]
}

function checkSignature(project: YamlNode): readonly Problem[] {
  const { path, value } = member(project, 'requireUserSignature')
  if (value !== true || member(project, 'signingSecret').value !== undefined) return []
  return [{ path, message: 'needs a signingSecret, or every visit would be refused' }]
}
