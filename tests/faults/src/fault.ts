import type { CampaignProject } from './campaign-projects.ts'
import type { CampaignStack } from './campaign-stack.ts'
import type { Measured } from './fault-result.ts'
import type { RecordingClient } from './recording-client.ts'
import type { Random } from './seeded-random.ts'

/** The hostile project and its client. Its calls are for the audit only: they may be refused. */
export interface HostileCaller {
  readonly project: CampaignProject
  readonly client: RecordingClient
}

export interface FaultContext {
  readonly stack: CampaignStack
  /** Numbers for this fault only. */
  readonly random: Random
  readonly client: RecordingClient
  readonly hostile: HostileCaller
}

/** Something that goes wrong while requests arrive. */
export interface Fault {
  /** Family and victim, for example `kill gateway`. */
  readonly name: string
  /** Faults of one family share a line in the table by family. */
  readonly family: string
  /** Whether `pnpm test` runs it too. */
  readonly isShort?: boolean
  /** Whether requests may fail during the fault, because a part is unavailable. Otherwise none may fail. */
  readonly mayRefuse?: boolean
  readonly inject: (context: FaultContext) => Promise<Injected>
}

/** A fault that has struck and lasts until it is healed. */
export interface Injected {
  readonly lastsMs: number
  /** Called once, even if the run has failed. */
  readonly heal: () => Promise<void>
  /** Called after healing. Returns proof that the fault really struck; undefined if it did not. */
  readonly witness: () => Promise<string | undefined>
  /** Called at rest. Returns what only this fault can measure. */
  readonly measured?: () => Measured | Promise<Measured>
  /** Called after healing. Returns the time in which the gateway itself was stopped and could not answer. */
  readonly gatewayStopped?: () => Span
}

/** Times in ms, of the same clock as the calls. */
export interface Span {
  readonly from: number
  readonly to: number
}

export const nothingToHeal = async (): Promise<void> => {}
