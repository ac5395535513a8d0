import type { ProjectConfig } from '@nextvisit/contracts'
import { eventSlug } from '../event-slug.ts'
import { leavesOf } from './segments.ts'

/** What of a user's facts a project's forms look at, by triggers, audiences and segments. */
export interface AskedFacts {
  /** By slug. */
  readonly events: ReadonlySet<string>
  readonly traits: ReadonlySet<string>
  readonly deviceFields: ReadonlySet<string>
}

/** Whoever keeps no other facts than these decides as one who keeps all. */
export function factsAskedBy(projects: readonly Pick<ProjectConfig, 'forms' | 'segments'>[]): AskedFacts {
  const forms = projects.flatMap((project) => project.forms)
  const trees = [
    ...forms.flatMap(({ audience }) => audience ?? []),
    ...projects.flatMap(({ segments }) => segments.map(({ where }) => where)),
  ]
  const leaves = trees.flatMap(leavesOf)
  const triggers = forms.flatMap((form) => form.triggers)
  return {
    events: new Set([...triggers, ...leaves].flatMap((one) => ('event' in one ? eventSlug(one.event) : []))),
    traits: new Set(leaves.flatMap((leaf) => ('trait' in leaf ? leaf.trait : []))),
    deviceFields: new Set(
      leaves.flatMap((leaf) => ('device' in leaf ? leaf.device : 'country' in leaf ? '$countryCode' : [])),
    ),
  }
}
