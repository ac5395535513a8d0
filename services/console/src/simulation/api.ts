import { DryRunOutcome, FormTallies } from '@nextvisit/contracts'
import { z } from 'zod'
import { CommandRunAnswer } from '../commands/command-run.ts'
import { defineRoute, Nothing } from '../http/define-route.ts'
import { MAX_SIMULATED_DAYS, MAX_WORKSPACE_CHARACTERS } from '../shared-with-pages.ts'

const StartSimulation = z.strictObject({
  /** The edited workspace file. */
  workspace: z.string().trim().min(1, 'must hold the workspace file').max(MAX_WORKSPACE_CHARACTERS),
  days: z.number().int().min(1).max(MAX_SIMULATED_DAYS),
})

/** Tallies of a form, with each reason in words. */
const SimulatedForm = FormTallies.extend({
  refused: z.array(FormTallies.shape.refused.element.extend({ words: z.string() })),
})
export type SimulatedForm = z.infer<typeof SimulatedForm>

const project = DryRunOutcome.shape.projects.element
const forms = project.shape.forms.element.extend({
  proposed: SimulatedForm.nullable(),
  today: SimulatedForm.nullable(),
})

const SimulationResult = z.strictObject({
  days: StartSimulation.shape.days,
  outcome: DryRunOutcome.extend({ projects: z.array(project.extend({ forms: z.array(forms) })) }).nullable(),
})
export type SimulationResult = z.infer<typeof SimulationResult>

export const simulationApi = {
  readSimulation: defineRoute({
    role: 'viewer',
    input: Nothing,
    answer: z.strictObject({
      /** Operators can start one here. */
      canStart: z.boolean(),
      /** Maximum number of records read from each topic, the newest ones. */
      maxRecords: z.number().int(),
      run: CommandRunAnswer.extend(SimulationResult.shape).nullable(),
    }),
  }),
  startSimulation: defineRoute({
    role: 'operator',
    input: StartSimulation,
    // A workspace file of maximum length, with every character escaped.
    maxBody: '1mb',
    answer: Nothing,
    logged: ({ days }) => ({ days: String(days) }),
  }),
  stopSimulation: defineRoute({ role: 'operator', input: Nothing, answer: Nothing }),
}
