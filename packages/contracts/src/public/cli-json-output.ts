import { z } from 'zod'
import { Instant, SlugId } from '../primitives.ts'
import { GateReason } from './form-decisions.ts'

/**
 * Output of `nextvisit`'s long commands with `--json-lines`: one JSON object per line, on standard output. The last line is the
 * outcome or the error; if both are missing, the command was interrupted.
 */

const count = z.number().int().min(0)

/** Printed at the start, then at most twice a second. */
export const ProgressLine = z.object({
  type: z.literal('progress'),
  share: z.number().min(0).max(1).describe('Completed share of the known work.'),
  records: count.describe('Processed so far.'),
  perSecond: count,
  secondsLeft: count.nullable().describe('null: not known yet.'),
})
export type ProgressLine = z.infer<typeof ProgressLine>

const WorkspaceFault = z.object({
  line: z.number().int().min(1),
  path: z.string().describe('The member, such as organizations[0].projects[0].forms[2].id; empty: the file itself.'),
  message: z.string(),
})
export type WorkspaceFault = z.infer<typeof WorkspaceFault>

/** The error that ended the command, as on standard error. */
export const ErrorLine = z.object({
  type: z.literal('error'),
  code: z
    .string()
    .describe(
      'LOG_UNAVAILABLE, DATABASE_UNAVAILABLE: the same command may succeed later. UNEXPECTED: an unforeseen error, with the message of its origin.',
    ),
  message: z.string(),
  faults: z.array(WorkspaceFault).describe('Faults of the workspace file, if it is invalid.'),
})
export type ErrorLine = z.infer<typeof ErrorLine>

export const ReplayComparison = z.object({
  table: z.string(),
  liveRows: count,
  rebuiltRows: count,
  onlyLive: count.describe('Live rows without an equal rebuilt row.'),
  onlyRebuilt: count.describe('Rebuilt rows without an equal live row. A changed row counts in both.'),
  examples: z
    .array(
      z.object({
        key: z.string().describe('The primary key, such as `organization=acme, project=shop`.'),
        kind: z.enum(['only live', 'only rebuilt', 'differs']),
        columns: z.array(z.string()).describe('Names of the differing columns, without values.'),
      }),
    )
    .describe('Examples of these rows.'),
  notCompared: z.string().nullable().describe('Columns that are not compared, and the reason.'),
})
export type ReplayComparison = z.infer<typeof ReplayComparison>

const offset = z.string().regex(/^\d{1,19}$/)

/** Consecutive offsets with records of the live rows that a replay cannot rebuild: their batch cannot be decoded. */
export const LostOffsets = z.object({ topic: z.string(), partition: count, firstOffset: offset, lastOffset: offset })
export type LostOffsets = z.infer<typeof LostOffsets>

/** Steps after the log is folded: compare; then carry and swap, unless the comparison ends the replay. */
export const ReplayStep = z.enum(['compare', 'carry', 'swap'])
export type ReplayStep = z.infer<typeof ReplayStep>

/** A line of `nextvisit replay --json-lines`. */
export const ReplayLine = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('begin'),
    service: z.string(),
    records: count.describe('Records to fold.'),
    resumedFrom: Instant.nullable().describe('Start of the interrupted replay that this one resumes.'),
  }),
  ProgressLine,
  z.object({ type: z.literal('pause'), message: z.string().describe('The reason for another attempt in a moment.') }),
  LostOffsets.extend({ type: z.literal('lost') }),
  z.object({ type: z.literal('step'), step: ReplayStep }),
  z.object({ type: z.literal('comparison'), tables: z.array(ReplayComparison) }),
  z.object({
    type: z.literal('outcome'),
    outcome: z
      .enum(['compared', 'refused', 'swapped'])
      .describe('refused: rows differ, and differences were not accepted.'),
    isEqual: z.boolean(),
    lockedMs: count.describe('Pause of folds during the swap.'),
  }),
  ErrorLine,
])
export type ReplayLine = z.infer<typeof ReplayLine>

/** Simulated outcome of one form. */
export const FormTallies = z.object({
  users: count.describe('Users for whom the form was queued at least once.'),
  queued: count,
  delivered: count,
  evaluated: count.describe('Number of records that matched one of its triggers.'),
  refused: z
    .array(z.object({ reason: GateReason, times: count }))
    .describe('Refusals by reason, the most frequent first.'),
})
export type FormTallies = z.infer<typeof FormTallies>

/** Output of `nextvisit forms dry-run --json`. */
export const DryRunOutcome = z.object({
  from: Instant,
  to: Instant,
  records: count.describe('Records read.'),
  unreadable: count.describe('Records that consumers keep as dead letters.'),
  since: Instant.nullable().describe('Start of the complete part (--max-records); null: the whole log was read.'),
  users: count,
  projects: z.array(
    z.object({
      organization: SlugId,
      project: SlugId,
      forms: z.array(
        z.object({
          form: SlugId,
          proposed: FormTallies.nullable().describe('null: the file removes the form.'),
          today: FormTallies.nullable().describe('null: the form is not applied at present.'),
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
