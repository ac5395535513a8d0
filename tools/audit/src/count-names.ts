import { createHash } from 'node:crypto'
import type { ClearEvent } from './facts.ts'
import type { Condition, Tree, TriggerInFile, Where } from './workspace-file.ts'

/** A counted event, optionally restricted by its properties. */
interface Counted {
  readonly event: string
  readonly where?: Where
}

/** Returns the name of a count in a user's rows (forms.md, Property counts). */
export function countName({ event, where }: Counted): string {
  return where ? `${slugOf(event)}#${hashOf(where)}` : slugOf(event)
}

/** Returns the names of all counts that a record of an event counts for. */
export function countNames({ slug, countsFor = [] }: ClearEvent): readonly string[] {
  return [slug, ...countsFor.map((hash) => `${slug}#${hash}`)]
}

function hashOf(where: Where): string {
  return createHash('sha256')
    .update(`[1,${inOrder(where)}]`)
    .digest('hex')
    .slice(0, 16)
}

/** Serializes JSON with the members of objects sorted by name. */
function inOrder(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOrder).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = new Map(Object.entries(value))
  const names = [...members.keys()].toSorted()
  return `{${names.map((name) => `${JSON.stringify(name)}:${inOrder(members.get(name))}`).join()}}`
}

/** Returns the count of a trigger. Without `count`, its `where` applies only to the event itself. */
export function countOfTrigger({ event = '', count, within, since, where }: TriggerInFile): Counted {
  const isCounting = count !== undefined || within !== undefined || since !== undefined
  return { event, ...(isCounting && where && { where }) }
}

/** Returns the property counts of a project's forms and segments, by name. */
export function propertyCountsIn(
  triggers: readonly TriggerInFile[],
  conditions: readonly Condition[],
): ReadonlyMap<string, Where> {
  const leaves = conditions.flatMap((condition) => leavesIn(condition))
  const counted = [...triggers.map(countOfTrigger), ...leaves.filter((leaf) => 'event' in leaf)]
  return new Map(counted.flatMap(({ event, where }) => (where ? [[countName({ event, where }), where]] : [])))
}

function leavesIn<Leaf extends object>(tree: Tree<Leaf>): readonly Leaf[] {
  if ('all' in tree) return tree.all.flatMap((part) => leavesIn(part))
  if ('any' in tree) return tree.any.flatMap((part) => leavesIn(part))
  return 'not' in tree ? leavesIn(tree.not) : [tree as Leaf]
}

/**
 * Returns the slug of an event: its words of letters with their marks, and digits, in lower case, joined by `_` (decisions.md,
 * Track event).
 */
export function slugOf(event: string): string {
  const words =
    event
      .replaceAll(/\u034f|\p{Variation_Selector}|\p{Cf}+(?=\p{M})/gu, '')
      .toLowerCase()
      .normalize('NFC')
      .match(/(\p{L}\p{M}*|\p{Nd})+/gu) ?? []
  return words.join('_')
}
