import type {
  ConditionLeaf,
  Form,
  GateName,
  GateOutcome,
  GateReason,
  GateReasonOf,
  ProjectConfig,
} from '@nextvisit/contracts'
import type { IsMember } from '../../conditions/condition-tree.ts'
import type { Moment } from '../../time/moment.ts'
import type { UserState } from '../user-state.ts'

/** The values that a gate compared, as a decision records them. */
export type ComparedValues<Name extends GateName> = Extract<GateOutcome, { gate: Name }>['compared']

/** The sentences that `nextvisit why` and the console show of a gate. */
export interface GateWords<Name extends GateName> {
  /** Completes "Not queued: …", for each reason. */
  readonly reasons: { readonly [Reason in GateReasonOf<Name>]: string }
  /** Describes the values that were compared. */
  readonly describe: (compared: ComparedValues<Name>) => string
}

/** The setting of a gate in the workspace file, as the console shows it: `Cooldown`, `7d after any form was shown`. */
export interface GateSetting {
  readonly name: string
  readonly words: string
}

/** A rule that decides if a form is queued (forms.md, Gates). */
export interface Gate<Name extends GateName> extends GateWords<Name> {
  /** A visit checks the gate again before it shows the form. Without it, the result from queueing stands. */
  readonly atVisit: boolean
  /** Describes the form's setting for the console. undefined: the form has none, or another part of its page shows it. */
  readonly setting: (form: Form, project: Pick<ProjectConfig, 'formCooldown'>) => GateSetting | undefined
  readonly compile: (form: Form, project: ProjectConfig) => CompiledGate
}

/** A gate prepared for one form. */
export interface CompiledGate {
  /** Checks a user at the moment when the record was received. `isMember`: the user's segments at that moment. */
  readonly check: (user: UserState, now: Moment, isMember: IsMember) => GateOutcome
  /** The reason to record if the form does not pass. */
  readonly reason: GateReason
  /** Conditions on facts about the user. Facts that no gate needs are neither loaded nor kept. */
  readonly needs?: readonly ConditionLeaf[]
  /** The form whose answers the gate reads, besides those in `needs`. */
  readonly needsAnswersTo?: string
  /** For this form, a visit checks the gate again, and a row that fails does not count as waiting. Absent: as `Gate.atVisit` says. */
  readonly whileWaiting?: true
}
