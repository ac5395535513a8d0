import type { Callers } from './callers.ts'
import type { CampaignStack } from './campaign-stack.ts'
import type { Measured } from './fault-result.ts'
import type { Random } from './seeded-random.ts'

export interface Stage {
  readonly stack: CampaignStack
  /** The fault's own. */
  readonly random: Random
  readonly callers: Callers
}

/** Something that goes wrong while requests come in. */
export interface Fault {
  /** `kill gateway`: family and victim. */
  readonly name: string
  /** Faults that share a line of README's table. */
  readonly family: string
  /** Run by `pnpm test`, too. */
  readonly isShort?: boolean
  /** A part is away: requests may fail meanwhile. Else none needs to. */
  readonly mayRefuse?: boolean
  readonly inject: (stage: Stage) => Promise<Injected>
}

/** A fault that has struck and goes on until it is healed. */
export interface Injected {
  readonly lastsMs: number
  /** Called once, even where the run has failed. */
  readonly heal: () => Promise<void>
  /** After healing: what shows that it really struck. Undefined: it did not, and the run has shown nothing. */
  readonly witness: () => Promise<string | undefined>
  /** After healing: what only this fault can measure. */
  readonly measured?: () => Measured
  /** After healing: when the gateway itself was stopped, which then answers nobody. */
  readonly gatewayStopped?: () => Span
}

/** On the clock of the calls. */
export interface Span {
  readonly from: number
  readonly to: number
}

export const nothingToHeal = async (): Promise<void> => {}
