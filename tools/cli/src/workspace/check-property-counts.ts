import { MAX_PROPERTY_COUNTS, MAX_PROPERTY_COUNTS_OF_AN_EVENT, type PropertyCondition } from '@nextvisit/contracts'
import { countKeyOf, eventSlug } from '@nextvisit/domain'
import { leaves } from './check-segments.ts'
import type { Fault } from './explain-issue.ts'
import { items, member, text, type YamlNode } from './yaml-node.ts'

/** Reports projects with too many property counts (forms.md, Property counts). */
export function checkPropertyCounts(project: YamlNode): readonly Fault[] {
  const places = new Map<string, YamlNode>()
  for (const counted of countedBy(project)) {
    const key = keyOf(counted)
    if (!places.has(key)) places.set(key, counted)
  }
  const distinct = [...places.values()]
  const bySlug = Map.groupBy(distinct, (counted) => eventSlug(text(counted, 'event') ?? ''))
  const name = `project ${text(project, 'id')}`
  return [
    ...tooMany(distinct, MAX_PROPERTY_COUNTS, `${name} counts events`),
    ...[...bySlug].flatMap(([slug, counted]) =>
      tooMany(counted, MAX_PROPERTY_COUNTS_OF_AN_EVENT, `${name} counts the event ${slug}`),
    ),
  ]
}

/** Reports an excess at its first item. */
function tooMany(counted: readonly YamlNode[], max: number, what: string): readonly Fault[] {
  const first = counted[max]
  if (!first) return []
  const message = `${what} with ${counted.length} different where conditions; the maximum is ${max}`
  return [{ path: member(first, 'where').path, message }]
}

/** Returns triggers and leaves that count events by their properties. */
function countedBy(project: YamlNode): readonly YamlNode[] {
  const forms = items(project, 'forms')
  const triggers = forms.flatMap((form) => items(form, 'triggers')).filter(isCounting)
  const conditions = [
    ...forms.map((form) => member(form, 'audience')),
    ...items(project, 'segments').map((segment) => member(segment, 'where')),
  ]
  const counted = [...triggers, ...conditions.flatMap((condition) => leaves(condition, 'event'))]
  return counted.filter((one) => text(one, 'event') !== undefined && member(one, 'where').value !== undefined)
}

function isCounting(trigger: YamlNode): boolean {
  return ['count', 'within', 'since'].some((name) => member(trigger, name).value !== undefined)
}

/** Returns the key of a count. The shape of `where` is checked elsewhere. */
function keyOf(counted: YamlNode): string {
  return countKeyOf({ event: text(counted, 'event') ?? '', where: member(counted, 'where').value as PropertyCondition })
}
