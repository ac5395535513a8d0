import { z } from 'zod'
import { Instant, SlugId } from '../primitives.ts'
import { GateReason } from '../records/form-decisions.ts'

/**
 * What the long commands of `nextvisit` print with `--json-lines`: one object a line, on standard output. The last one is the
 * outcome or the error; where neither comes, the command was interrupted.
 */

const count = z.number().int().min(0)

/** At once, then at most twice a second. */
export const ProgressLine = z.object({
  type: z.literal('progress'),
  share: z.number().min(0).max(1).describe('Of the work that is known.'),
  records: count.describe('Done.'),
  perSecond: count,
  secondsLeft: count.nullable().describe('null: not known yet.'),
})
export type ProgressLine = z.infer<typeof ProgressLine>

export const WorkspaceFault = z.object({
  line: z.number().int().min(1),
  path: z.string().describe('Such as organizations[0].projects[0].forms[2].id; empty: the file itself.'),
  message: z.string(),
})
export type WorkspaceFault = z.infer<typeof WorkspaceFault>

/** What ended the command, as standard error says it. */
export const ErrorLine = z.object({
  type: z.literal('error'),
  code: z.string().describe('UNEXPECTED: nobody foresaw it, and the message is that of another program.'),
  message: z.string(),
  faults: z.array(WorkspaceFault).describe('Of the workspace file, where it is invalid.'),
})
export type ErrorLine = z.infer<typeof ErrorLine>

export const ReplayComparison = z.object({
  table: z.string(),
  liveRows: count,
  rebuiltRows: count,
  onlyLive: count.describe('Live rows without an equal rebuilt row.'),
  onlyRebuilt: count.describe('The reverse. A changed row counts in both.'),
  examples: z
    .array(
      z.object({
        key: z.string().describe('`organization=acme, project=shop`, by the primary key of the table.'),
        kind: z.enum(['only live', 'only rebuilt', 'differs']),
        columns: z.array(z.string()).describe('Those that differ. No values.'),
      }),
    )
    .describe('Some of these rows.'),
  notCompared: z.string().nullable().describe('What of the table is left out, and why.'),
})
export type ReplayComparison = z.infer<typeof ReplayComparison>

/** After the log is folded: compare; then, unless that ends it, carry and swap. */
export const ReplayStep = z.enum(['compare', 'carry', 'swap'])
export type ReplayStep = z.infer<typeof ReplayStep>

/** A line of `nextvisit replay --json-lines`. */
export const ReplayLine = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('begin'),
    service: z.string(),
    records: count.describe('That are to be folded.'),
    resumedFrom: Instant.nullable().describe('When an interrupted replay began that this one continues.'),
  }),
  ProgressLine,
  z.object({ type: z.literal('pause'), message: z.string().describe('Why it tries again in a moment.') }),
  z.object({ type: z.literal('step'), step: ReplayStep }),
  z.object({ type: z.literal('comparison'), tables: z.array(ReplayComparison) }),
  z.object({
    type: z.literal('outcome'),
    outcome: z.enum(['compared', 'refused', 'swapped']).describe('refused: rows differ, and that was not accepted.'),
    isEqual: z.boolean(),
    lockedMs: count.describe('How long folds waited for the swap.'),
  }),
  ErrorLine,
])
export type ReplayLine = z.infer<typeof ReplayLine>

/** What would have become of one form. */
export const FormTallies = z.object({
  users: count.describe('For whom it was queued at least once.'),
  queued: count,
  delivered: count,
  evaluated: count.describe('How often one of its triggers matched.'),
  refused: z.array(z.object({ reason: GateReason, times: count })).describe('The most frequent first.'),
})
export type FormTallies = z.infer<typeof FormTallies>

/** What `nextvisit forms dry-run --json` prints. */
export const DryRunOutcome = z.object({
  from: Instant,
  to: Instant,
  records: count.describe('Read.'),
  unreadable: count.describe('Those that consumers keep as dead letters.'),
  since: Instant.nullable().describe('From here on everything was read (--max-records); null: the whole log was.'),
  users: count,
  projects: z.array(
    z.object({
      organization: SlugId,
      project: SlugId,
      forms: z.array(
        z.object({
          form: SlugId,
          proposed: FormTallies.nullable().describe('null: the file removes it.'),
          today: FormTallies.nullable().describe('null: it is not applied now.'),
        }),
      ),
    }),
  ),
})
export type DryRunOutcome = z.infer<typeof DryRunOutcome>

/** A line of `nextvisit forms dry-run --json-lines`. */
export const DryRunLine = z.discriminatedUnion('type', [
  ProgressLine,
  DryRunOutcome.extend({ type: z.literal('outcome') }),
  ErrorLine,
])
export type DryRunLine = z.infer<typeof DryRunLine>
