import type { ProjectConfig, UserReadModel } from '@nextvisit/contracts'
import type { Answer } from '../api-routes.ts'
import type { Mask } from '../http/mask.ts'

/** Converts the read model of a user. */
export function profileOf(
  user: UserReadModel,
  config: ProjectConfig | undefined,
  mask: Mask,
): Answer<'readUser'>['profile'] {
  const segments = new Set(config?.segments.map(({ id }) => id))
  return {
    userName: mask.userName(user.userName),
    country: user.country,
    firstSeenAt: user.firstSeenAt,
    lastSeenAt: user.lastSeenAt,
    traits: namedValues(user.traits, mask),
    device: namedValues(user.device, mask),
    // A removed segment disappears immediately, as in the gateway's answer.
    segments: user.segments.filter((id) => segments.has(id)),
    events: Object.entries(user.events).map(([slug, { count, firstAt, lastAt }]) => ({ slug, count, firstAt, lastAt })),
    isStale: user.stale ?? false,
  }
}

/** Lists the members of an object with their values as text. */
export function namedValues(
  values: Readonly<Record<string, unknown>>,
  mask: Mask,
): { readonly name: string; readonly value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ name, value: mask.value(value) }))
}
