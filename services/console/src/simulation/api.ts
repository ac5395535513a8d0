import { Instant, SlugId } from '@nextvisit/contracts'
import { z } from 'zod'
import { MAX_SIMULATED_DAYS, MAX_WORKSPACE_CHARACTERS } from '../api-bounds.ts'
import { CommandRunAnswer } from '../commands/api.ts'
import { type ApiTable, defineRoute, Nothing } from '../http/define-route.ts'

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
  /** Gates that stopped the form, most frequent first. */
  stops: z.array(z.strictObject({ reason: z.string(), words: z.string(), times: count })),
})
export type SimulatedSide = z.infer<typeof SimulatedSide>

export const SimulatedForm = z.strictObject({
  form: SlugId,
  /** null: the file removes it. */
  edited: SimulatedSide.nullable(),
  /** null: not applied. */
  today: SimulatedSide.nullable(),
})
export type SimulatedForm = z.infer<typeof SimulatedForm>

export const SimulationOutcome = z.strictObject({
  from: Instant,
  to: Instant,
  records: count,
  unreadable: count,
  users: count,
  /** Start of the part of the log that was read completely; null: the whole log was read. */
  since: Instant.nullable(),
  projects: z.array(z.strictObject({ organization: SlugId, project: SlugId, forms: z.array(SimulatedForm) })),
})
export type SimulationOutcome = z.infer<typeof SimulationOutcome>

export const SimulationAnswer = z.strictObject({
  /** Operators can start one here. */
  canStart: z.boolean(),
  /** Maximum number of records read from each topic, the newest ones. */
  maxRecords: count,
  run: CommandRunAnswer.extend({ days: count, outcome: SimulationOutcome.nullable() }).nullable(),
})
export type SimulationAnswer = z.infer<typeof SimulationAnswer>

export const simulationApi = {
  readSimulation: defineRoute({ role: 'viewer', input: Nothing, answer: SimulationAnswer }),
  startSimulation: defineRoute({
    role: 'operator',
    input: StartSimulation,
    // A workspace file of maximum length, with every character escaped.
    maxBody: '1mb',
    answer: Nothing,
    logged: ({ days }) => ({ days: String(days) }),
  }),
  stopSimulation: defineRoute({ role: 'operator', input: Nothing, answer: Nothing }),
} satisfies ApiTable
