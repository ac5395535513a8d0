import type { ErasedUser } from '@nextvisit/consumer'
import { projectKeyOf } from '@nextvisit/domain'
import type { ProjectRef } from '@nextvisit/contracts'
import type { RowOf } from '@nextvisit/database'
import type { HeardEvent } from './listeners.ts'
import type { DeliveryStreamOf, NewDelivery } from './new-deliveries.ts'
import type { positions } from './tables.ts'

export type Position = RowOf<typeof positions>

/** The live stream of an endpoint in a partition. */
export interface LiveStream extends DeliveryStreamOf {
  readonly isLive: boolean
  /** The first record that a stream that is not live has not read. */
  readonly nextOffset: number
}

/** The deliveries of a batch. */
export interface Draft {
  readonly createdAt: string
  /** By {@link placeKeyOf}. */
  readonly streams: ReadonlyMap<string, readonly LiveStream[]>
  /** Positions of endpoints that this process does not know. They stop before the batch. */
  readonly left: readonly Position[]
  readonly deliveries: NewDelivery[]
  /** Events of projects that somebody listens to. */
  readonly heard: readonly HeardEvent[]
  readonly erased: ErasedUser[]
}

/** Returns a draft of a batch that no endpoint wants. */
export function emptyDraft(): Draft {
  return { createdAt: '', streams: new Map(), left: [], deliveries: [], heard: [], erased: [] }
}

/** Returns the key of a project in a partition. */
export function placeKeyOf({ partition, ...project }: ProjectRef & { readonly partition: number }): string {
  return `${partition}/${projectKeyOf(project)}`
}
