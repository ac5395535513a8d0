import { Instant, SlugId } from '@nextvisit/contracts'
import { z } from 'zod'
import { CommandRunAnswer } from '../commands/api.ts'
import { MAX_SIMULATED_DAYS, MAX_WORKSPACE_CHARACTERS } from './simulation-bounds.ts'

export const StartSimulation = z.strictObject({
  /** The edited workspace file. */
  workspace: z.string().trim().min(1, 'must hold the workspace file').max(MAX_WORKSPACE_CHARACTERS),
  days: z.number().int().min(1).max(MAX_SIMULATED_DAYS),
})
export type StartSimulation = z.infer<typeof StartSimulation>

const count = z.number().int()

export const SimulatedSide = z.strictObject({
  users: count,
  queued: count,
  delivered: count,
  evaluated: count,
  /** The gate that stopped most first. */
  stops: z.array(z.strictObject({ reason: z.string(), words: z.string(), times: count })),
})
export type SimulatedSide = z.infer<typeof SimulatedSide>

export const SimulatedForm = z.strictObject({
  form: SlugId,
  /** null: the file removes it. */
  edited: SimulatedSide.nullable(),
  /** null: it is not applied now. */
  today: SimulatedSide.nullable(),
})
export type SimulatedForm = z.infer<typeof SimulatedForm>

export const SimulationOutcome = z.strictObject({
  from: Instant,
  to: Instant,
  records: count,
  unreadable: count,
  users: count,
  /** From here on everything was read; null: the whole log was. */
  since: Instant.nullable(),
  projects: z.array(z.strictObject({ organization: SlugId, project: SlugId, forms: z.array(SimulatedForm) })),
})
export type SimulationOutcome = z.infer<typeof SimulationOutcome>

export const SimulationAnswer = z.strictObject({
  /** Whether operators can start one here. */
  canStart: z.boolean(),
  /** Of each topic at most so many records are read, the newest. */
  maxRecords: count,
  run: CommandRunAnswer.extend({ days: count, outcome: SimulationOutcome.nullable() }).nullable(),
})
export type SimulationAnswer = z.infer<typeof SimulationAnswer>
