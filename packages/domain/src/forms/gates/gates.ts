import {
  type Form,
  GATE_NAMES,
  type GateName,
  type GateOutcome,
  type GateReason,
  type ProjectConfig,
} from '@nextvisit/contracts'
import type { IsMember } from '../../conditions/condition-tree.ts'
import type { Moment } from '../../time/moment.ts'
import type { UserState } from '../user-state.ts'
import { audience } from './audience.ts'
import { cooldown } from './cooldown.ts'
import type { CompiledGate, Gate, GateSetting, GateWords } from './gate.ts'
import { live } from './live.ts'
import { repeat } from './repeat.ts'
import { sample } from './sample.ts'
import { slot } from './slot.ts'
import { where } from './where.ts'

type FormGateName = Exclude<GateName, 'where'>

/** The gates that look at the user. */
const GATES: { readonly [Name in FormGateName]: Gate<Name> } = { live, audience, sample, repeat, cooldown, slot }
const WORDS: { readonly [Name in GateName]: GateWords<Name> } = { where, ...GATES }

const TO_QUEUE = GATE_NAMES.filter((name): name is FormGateName => name !== 'where')

/** The gates of one form, in the order of forms.md. */
export interface FormGates {
  /** All of them: they decide whether the form is queued. */
  readonly toQueue: readonly CompiledGate[]
  /** Those that a visit checks again before it shows the form. */
  readonly atVisit: readonly CompiledGate[]
  /** Those of them without which a row does not count as waiting. */
  readonly whileWaiting: readonly CompiledGate[]
}

export function compileGates(form: Form, project: ProjectConfig): FormGates {
  const compiled = Object.fromEntries(TO_QUEUE.map((name) => [name, GATES[name].compile(form, project)]))
  const gates = compiled as Record<FormGateName, CompiledGate>
  return {
    toQueue: TO_QUEUE.map((name) => gates[name]),
    atVisit: TO_QUEUE.filter((name) => GATES[name].atVisit || gates[name].whileWaiting).map((name) => gates[name]),
    whileWaiting: TO_QUEUE.map((name) => gates[name]).filter((gate) => gate.whileWaiting),
  }
}

/** Describes the settings of a form's gates, in the order of the gates. */
export function gateSettingsOf(form: Form, project: Pick<ProjectConfig, 'formCooldown'>): readonly GateSetting[] {
  return TO_QUEUE.flatMap((name) => GATES[name].setting(form, project) ?? [])
}

/** Returns the outcomes of gates, up to the first that fails, and its reason. No reason: every gate passed. */
export function checkGates(
  gates: readonly CompiledGate[],
  user: UserState,
  now: Moment,
  isMember: IsMember,
): { readonly outcomes: readonly GateOutcome[]; readonly reason: GateReason | undefined } {
  const outcomes: GateOutcome[] = []
  for (const { check, reason } of gates) {
    const outcome = check(user, now, isMember)
    outcomes.push(outcome)
    if (!outcome.passed) return { outcomes, reason }
  }
  return { outcomes, reason: undefined }
}

/** Returns the gates behind the one that failed. A gate newer than the decision is not one of them. */
export function gatesNotChecked(outcomes: readonly GateOutcome[]): readonly GateName[] {
  const last = outcomes.at(-1)
  return last && !last.passed ? GATE_NAMES.slice(GATE_NAMES.indexOf(last.gate) + 1) : []
}

/** Describes the values that a gate compared, such as `trait plan is "pro"; the user has "free"`. */
export function describeComparison({ gate, compared }: GateOutcome): string {
  const words = WORDS[gate] as GateWords<never> | undefined
  if (words) return words.describe(compared as never)
  // A newer evaluator may know more gates.
  return Object.entries(compared as object)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(', ')
}

const REASONS = Object.assign({}, ...Object.values(WORDS).map(({ reasons }) => reasons)) as Record<GateReason, string>

/** Completes "Not queued: …". */
export function reasonInWords(reason: GateReason): string {
  return REASONS[reason]
}
