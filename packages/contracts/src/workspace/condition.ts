import { z } from 'zod'
import { Duration, ElementId, SlugId } from '../primitives.ts'
import { DEVICE_FIELDS } from '../device-info.ts'

/** Maximum count in a condition or trigger. `apply` refuses a higher one (forms.md, Conditions). */
export const MAX_COUNT = 50
/**
 * Number of the latest past occurrences that are kept of each event, and half the maximum of future ones. One more than the
 * maximum count, so that 50 differs from more than 50.
 */
export const KEPT_OCCURRENCES = MAX_COUNT + 1
/** Maximum number of property counts in a project, and of one event. `apply` refuses more. */
export const MAX_PROPERTY_COUNTS = 100
export const MAX_PROPERTY_COUNTS_OF_AN_EVENT = 10

/** Before its first use: schemas are built while the module loads. */
const branchesOfTrees = new WeakMap<z.ZodType, readonly z.ZodType[]>()

const scalar = z.union([z.string(), z.number(), z.boolean()], 'must be a text, a finite number, true or false')
const dateOperand = z.union(
  [z.iso.datetime({ offset: true }), z.string().regex(/^-\d{1,6}[smhd]$/)],
  'must be an ISO instant or an age such as -30d',
)
export const COUNT_TOO_HIGH = `must be at most ${MAX_COUNT}: no more than ${MAX_COUNT} times of an event are counted`
const count = z.number().int().min(0).max(MAX_COUNT, COUNT_TOO_HIGH)

const oneOperator = (keys: readonly string[]) => (leaf: object) =>
  keys.filter((key) => Object.hasOwn(leaf, key) && (leaf as Record<string, unknown>)[key] !== undefined).length === 1

/** The operators on the value of a trait or a property (forms.md, Conditions), with the schemas of their operands. */
export const VALUE_OPERATORS = {
  is: scalar.optional(),
  isNot: scalar.optional(),
  in: z.array(scalar).min(1).optional(),
  notIn: z.array(scalar).min(1).optional(),
  contains: z.string().optional(),
  startsWith: z.string().optional(),
  exists: z.boolean().optional(),
  atLeast: z.number().optional(),
  atMost: z.number().optional(),
  moreThan: z.number().optional(),
  lessThan: z.number().optional(),
  before: dateOperand.optional(),
  after: dateOperand.optional(),
}
export type ValueOperator = keyof typeof VALUE_OPERATORS

/** The arguments of `refine` for a leaf with these operators. */
export const hasOneValueOperator = [
  oneOperator(Object.keys(VALUE_OPERATORS)),
  { message: `needs exactly one of ${Object.keys(VALUE_OPERATORS).join(', ')}` },
] as const

export const TraitLeaf = z.strictObject({ trait: z.string().min(1), ...VALUE_OPERATORS }).refine(...hasOneValueOperator)
export type TraitLeaf = z.infer<typeof TraitLeaf>

/** A condition on a property of an event, given by a path such as `cart.total` (forms.md, Property conditions). */
export const PropertyLeaf = z
  .strictObject({ property: z.string().min(1), ...VALUE_OPERATORS })
  .refine(...hasOneValueOperator)
export type PropertyLeaf = z.infer<typeof PropertyLeaf>

/** A condition of a trigger or a count on the properties of an event (forms.md, Property conditions). */
export type PropertyCondition = Tree<PropertyLeaf>
export const PropertyCondition = treeOf<PropertyLeaf>([['property', PropertyLeaf]]).describe(
  '`all`, `any` and `not` over conditions on properties such as `{ property: total, atLeast: 100 }`.',
)

const FACT_OPERATORS = ['is', 'isNot', 'in', 'notIn', 'exists'] as const
const DeviceLeaf = z
  .strictObject({
    device: z.enum(DEVICE_FIELDS),
    is: z.string().optional(),
    isNot: z.string().optional(),
    in: z.array(z.string()).min(1).optional(),
    notIn: z.array(z.string()).min(1).optional(),
    exists: z.boolean().optional(),
  })
  .refine(oneOperator(FACT_OPERATORS), { message: `needs exactly one of ${FACT_OPERATORS.join(', ')}` })
type DeviceLeaf = z.infer<typeof DeviceLeaf>

const countryCode = z.string().regex(/^[A-Z]{2}$/, 'must be a country code such as DE')
/** A condition on the country: `{ country: DE }`, or `{ country: { in: [DE, AT] } }` for the other operators. */
const CountryLeaf = z.strictObject({
  country: z.union([
    countryCode,
    z
      .strictObject({
        is: countryCode.optional(),
        isNot: countryCode.optional(),
        in: z.array(countryCode).min(1).optional(),
        notIn: z.array(countryCode).min(1).optional(),
        exists: z.boolean().optional(),
      })
      .refine(oneOperator(FACT_OPERATORS), { message: `needs exactly one of ${FACT_OPERATORS.join(', ')}` }),
  ]),
})
type CountryLeaf = z.infer<typeof CountryLeaf>

const COUNT_OPERATORS = ['atLeast', 'atMost', 'exactly'] as const
const EventLeaf = z
  .strictObject({
    event: z.string().min(1),
    atLeast: count.optional(),
    atMost: count.optional(),
    exactly: count.optional(),
    within: Duration.optional(),
    /** Counts only events whose properties meet this. */
    where: PropertyCondition.optional(),
  })
  .refine(oneOperator(COUNT_OPERATORS), { message: `needs exactly one of ${COUNT_OPERATORS.join(', ')}` })
export type EventLeaf = z.infer<typeof EventLeaf>

const SegmentLeaf = z.strictObject({ segment: SlugId })
type SegmentLeaf = z.infer<typeof SegmentLeaf>

/** A condition on the user's answer to an element of a form (forms.md, Conditions). */
export const FormAnswerLeaf = z
  .strictObject({ answer: z.strictObject({ form: SlugId, element: ElementId }), ...VALUE_OPERATORS })
  .refine(...hasOneValueOperator)
export type FormAnswerLeaf = z.infer<typeof FormAnswerLeaf>

export const ConditionLeaf = z.union([TraitLeaf, DeviceLeaf, CountryLeaf, EventLeaf, SegmentLeaf, FormAnswerLeaf])
export type ConditionLeaf = z.infer<typeof ConditionLeaf>

/** A tree of `all`, `any` and `not` over leaves. */
export type Tree<Leaf> =
  | { readonly all: readonly Tree<Leaf>[] }
  | { readonly any: readonly Tree<Leaf>[] }
  | { readonly not: Tree<Leaf> }
  | Leaf

/** Returns the kinds of nodes of a condition's schema, for programs that explain faults. Of any other schema: none. */
export function branchesOfTree(schema: z.ZodType): readonly z.ZodType[] {
  return branchesOfTrees.get(schema) ?? []
}

/** Creates the schema of a tree. It chooses the branch by its key, so an error names only the intended kind of leaf. */
export function treeOf<Leaf>(
  leaves: readonly (readonly [string, z.ZodType<Leaf>])[],
): z.ZodType<Tree<Leaf>, Tree<Leaf>> {
  const tree = z.unknown().check((context) => {
    const { value: input, issues } = context
    const keys = typeof input === 'object' && input !== null && !Array.isArray(input) ? Object.keys(input) : []
    const [, branch] = branches.find(([key]) => keys.includes(key)) ?? []
    if (!branch) {
      const message = `must be one of ${branches.map(([key]) => key).join(', ')}`
      issues.push({ code: 'custom', input, message, continue: false })
      return
    }
    const parsed = branch.safeParse(input)
    if (parsed.success) return
    // Issues keep their path, so that an error can locate an unknown member. There may be more than `push` takes at once.
    for (const issue of parsed.error.issues) issues.push({ ...issue, continue: false } as z.core.$ZodRawIssue)
  })
  const branches: readonly (readonly [string, z.ZodType])[] = [
    ['all', z.strictObject({ all: z.array(tree) })],
    ['any', z.strictObject({ any: z.array(tree) })],
    ['not', z.strictObject({ not: tree })],
    ...leaves,
  ]
  branchesOfTrees.set(
    tree,
    branches.map(([, branch]) => branch),
  )
  return tree as z.ZodType as z.ZodType<Tree<Leaf>, Tree<Leaf>>
}

/** A condition of an audience or a segment on a user (forms.md, Conditions). */
export type Condition = Tree<ConditionLeaf>
export const Condition = treeOf<ConditionLeaf>([
  ['trait', TraitLeaf],
  ['device', DeviceLeaf],
  ['country', CountryLeaf],
  ['event', EventLeaf],
  ['segment', SegmentLeaf],
  ['answer', FormAnswerLeaf],
])

/** A condition that no user meets. */
export const NEVER: Condition = { any: [] }

/** Returns the ids of the segments that a condition names. */
export function segmentsNamedIn(condition: Condition): readonly string[] {
  if ('all' in condition) return condition.all.flatMap(segmentsNamedIn)
  if ('any' in condition) return condition.any.flatMap(segmentsNamedIn)
  if ('not' in condition) return segmentsNamedIn(condition.not)
  return 'segment' in condition ? [condition.segment] : []
}
