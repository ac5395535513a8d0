import type { CatalogProject } from '@nextvisit/catalog'
import type { Definition, DefinitionsAnswer } from '@nextvisit/contracts'
import { eventSlug } from '@nextvisit/domain'
import type { NameKind, NameLine, NamesPage } from './api.ts'

/** What the workspace file says of names. */
export type DeclaredNames = Pick<
  CatalogProject,
  'declaredTraits' | 'disabledTraits' | 'declaredEvents' | 'disabledEvents'
>

export interface NamesPageParts {
  readonly kind: NameKind
  /** The registry's page of at most `limit` definitions, after `after` and with `prefix`. */
  readonly page: DefinitionsAnswer
  readonly declared: DeclaredNames
  readonly prefix: string
  readonly after: string | undefined
  readonly limit: number
}

/** What slugs begin with where names begin with it: an event's name may be spelt in many ways. */
export function slugPrefixOf(kind: NameKind, prefix: string): string {
  // A prefix without a letter or digit is that of no event.
  return kind === 'events' ? eventSlug(prefix) || prefix : prefix
}

/** A page of what records have carried and of what the workspace file names, by slug in the order of bytes. */
export function namesPageOf({ kind, page, declared, prefix, after, limit }: NamesPageParts): NamesPage {
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
      } satisfies NameLine
    }),
    next: hasMore ? (shown.at(-1) ?? null) : null,
  }
}

/** As Postgres compares slugs. */
function inBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
