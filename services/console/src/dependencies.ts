import type { LogConnection } from '@nextvisit/log'
import type { KeyRing } from '@nextvisit/sealing'
import type { Logger } from '@nextvisit/service-kit'
import type { KnownCatalog, KnownContents } from './catalog/known-catalog.ts'
import type { Services } from './services.ts'

/** Dependencies of the screens. Each function picks the ones that it uses. */
export interface Dependencies extends Services {
  readonly connection: LogConnection
  /** The keys of NEXTVISIT_SECRET_KEY; undefined if it is not set. */
  readonly keyRing: KeyRing | undefined
  readonly catalog: () => Promise<KnownCatalog>
  readonly contents: () => Promise<KnownContents>
  /** Number of partitions of the topics keyed by user. */
  readonly partitionCount: number
  readonly nowMs: () => number
  readonly logger: Logger
}
