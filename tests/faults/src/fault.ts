import type { FindingsOfKind } from '@nextvisit/audit'
import type { CampaignProject } from './campaign-projects.ts'
import type { CampaignStack } from './campaign-stack.ts'
import type { Measured } from './fault-result.ts'
import type { RecordingClient } from './recording-client.ts'
import type { Random } from './seeded-random.ts'

/** The hostile project and its client. Its calls may be refused; only the audit judges them. */
interface HostileCaller {
  readonly project: CampaignProject
  readonly client: RecordingClient
}

export interface FaultContext {
  readonly stack: CampaignStack
  /** Random numbers of this fault only. */
  readonly random: Random
  readonly client: RecordingClient
  readonly hostile: HostileCaller
}

/** A failure that is injected under load. */
export interface Fault {
  /** Family and victim, for example `kill gateway`. */
  readonly name: string
  /** Faults of one family share a line in the table by family. */
  readonly family: string
  /** True if `pnpm test` runs it, too. */
  readonly isShort?: boolean
  /** True if requests may fail during the fault, because a part is unavailable. Otherwise none may fail. */
  readonly mayRefuse?: boolean
  readonly inject: (context: FaultContext) => Promise<Injected>
}

/** A fault that has struck and lasts until it is healed. */
export interface Injected {
  readonly lastsMs: number
  /** Ends the fault. Called once, even if the run has failed. */
  readonly heal: () => Promise<void>
  /** Returns proof that the fault struck; undefined if it did not. Called after `heal`. */
  readonly witness: () => Promise<string | undefined>
  /** Returns the errors that only this fault can find. Called after `witness`. */
  readonly wrong?: () => Promise<readonly FindingsOfKind[]>
  /** Returns the values that only this fault can measure. Called at rest. */
  readonly measured?: () => Measured | Promise<Measured>
  /** Returns the time in which the gateway itself was stopped and could not answer. Called after `heal`. */
  readonly gatewayStopped?: () => Span
}

/** A span of time in ms, by the clock of the calls. */
export interface Span {
  readonly from: number
  readonly to: number
}

export const nothingToHeal = async (): Promise<void> => {}
