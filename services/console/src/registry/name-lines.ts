import type { CatalogProject } from '@nextvisit/catalog'
import type { Definition, DefinitionsAnswer } from '@nextvisit/contracts'
import { eventSlug } from '@nextvisit/domain'
import type { Answer, Input } from '../api-routes.ts'

interface NamesPageParts {
  readonly kind: Input<'listNames'>['kind']
  /** The registry's page of at most `limit` definitions after `after` with `prefix`. */
  readonly page: DefinitionsAnswer
  /** Names in the workspace file. */
  readonly declared: Pick<CatalogProject, 'declaredTraits' | 'disabledTraits' | 'declaredEvents' | 'disabledEvents'>
  readonly prefix: string
  readonly after: string | undefined
  readonly limit: number
}

/** Converts the prefix of a name to the prefix of its slug: the name of an event has many spellings. */
export function slugPrefixOf(kind: NamesPageParts['kind'], prefix: string): string {
  // A prefix without a letter or digit has no slug, and matches no event.
  return kind === 'events' ? eventSlug(prefix) || prefix : prefix
}

/** Merges names of records and of the workspace file into one page, by slug in byte order. */
export function namesPageOf({ kind, page, declared, prefix, after, limit }: NamesPageParts): Answer<'listNames'> {
  const [enabled, disabled] =
    kind === 'events'
      ? [declared.declaredEvents, declared.disabledEvents]
      : [declared.declaredTraits, declared.disabledTraits]
  const isInRange = (slug: string) => slug.startsWith(prefix) && (after === undefined || inBytes(slug, after) > 0)
  const definitions = new Map<string, Definition>(page.definitions.map((definition) => [definition.slug, definition]))
  const slugs = new Set([...definitions.keys(), ...[...enabled, ...disabled].filter(isInRange)])
  const sorted = [...slugs].toSorted(inBytes)
  const shown = sorted.slice(0, limit)
  const hasMore = sorted.length > limit || page.next !== null
  return {
    names: shown.map((slug) => {
      const found = definitions.get(slug)
      return {
        slug,
        name: found?.name ?? null,
        isDisabled: disabled.has(slug),
        isDeclared: enabled.has(slug),
        firstSeenAt: found?.firstSeenAt ?? null,
        lastSeenAt: found?.lastSeenAt ?? null,
        count: found?.count ?? 0,
      }
    }),
    next: hasMore ? (shown.at(-1) ?? null) : null,
  }
}

/** Compares slugs as Postgres does. */
function inBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
