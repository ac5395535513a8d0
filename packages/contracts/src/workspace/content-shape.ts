import { z } from 'zod'
import { ElementId } from '../primitives.ts'
import { isLongerThan } from '../text-length.ts'
import { hasOneValueOperator, type Tree, treeOf, VALUE_OPERATORS } from './condition.ts'

/** Maximum number of elements of a content. */
export const MAX_ELEMENTS = 50
const MAX_OPTIONS = 50
const MAX_LANGUAGES = 20
const MAX_TEXT_CHARACTERS = 2_000
const MAX_URL_CHARACTERS = 2_048

const TEXT_LENGTH = `must be 1 to ${MAX_TEXT_CHARACTERS} characters long`
const PlainText = z
  .string()
  .min(1, TEXT_LENGTH)
  .refine((text) => !isLongerThan(text, MAX_TEXT_CHARACTERS), TEXT_LENGTH)

/** A text of a form: the same in every language, or one for each. */
const ContentText = z.union(
  [PlainText, z.record(z.string(), PlainText)],
  `must be a text of 1 to ${MAX_TEXT_CHARACTERS} characters, or one such text for each language`,
)
export type ContentText = z.infer<typeof ContentText>

/** A language tag such as `en`, `de` or `pt-BR` (BCP 47). */
export const LanguageTag = z
  .string()
  .regex(/^(?=.{2,35}$)[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$/, 'must be a language tag such as en, de or pt-BR')

const OptionId = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be 1 to 63 of the characters a-z, 0-9, _ and -')

const HttpsUrl = z
  .string()
  .refine(
    (url) => /^https:\/\/[^\s/\\?#]\S*$/.test(url) && URL.canParse(url) && !isLongerThan(url, MAX_URL_CHARACTERS),
    {
      message: `must be a URL that begins with https:// and a host, of at most ${MAX_URL_CHARACTERS} characters`,
      abort: true,
    },
  )
  // A user name may look like the host, and pages would get a password.
  .refine(
    (url) => !/^https:\/\/[^/\\?#]*@/.test(url),
    'has a user name or password before the host: write https://example.com, not https://name:password@example.com',
  )

/** A condition on the answer to an element of the same form (forms.md, Content). */
export const AnswerLeaf = z.strictObject({ answer: ElementId, ...VALUE_OPERATORS }).refine(...hasOneValueOperator)
export type AnswerLeaf = z.infer<typeof AnswerLeaf>

/** The condition under which an element is shown, or under which the answers of a finished form set off another one. */
export type AnswerCondition = Tree<AnswerLeaf>
export const AnswerCondition = treeOf<AnswerLeaf>([['answer', AnswerLeaf]]).describe(
  '`all`, `any` and `not` over conditions such as `{ answer: score, atMost: 6 }`.',
)

/** Creates the members of a content, with texts in all languages or in one. */
function contentMembers<Text extends z.ZodType>(text: Text) {
  const common = {
    id: ElementId.describe('Unique in the form.'),
    showIf: AnswerCondition.optional().describe('The element is shown if this holds.'),
  }
  const question = {
    ...common,
    label: text.optional(),
    required: z.boolean().default(false).describe('A finished form has an answer, unless the element is hidden.'),
  }
  const chosen = {
    ...question,
    options: z
      .array(z.strictObject({ id: OptionId, label: text }))
      .min(1)
      .max(MAX_OPTIONS),
    other: z.boolean().default(false).describe('A text of the user is also an answer.'),
  }
  const element = z.discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.literal('nps'), ...question }).describe('A whole number from 0 to 10.'),
      z
        .strictObject({
          type: z.literal('text'),
          ...question,
          maxLength: z.number().int().min(1).max(10_000).default(1_000).describe('Maximum number of characters.'),
        })
        .describe('A text.'),
      z
        .strictObject({
          type: z.literal('rating'),
          ...question,
          scale: z.number().int().min(2).max(10).default(5).describe('The highest value.'),
        })
        .describe('A whole number from 1 to `scale`.'),
      z.strictObject({ type: z.literal('choice'), ...chosen }).describe('One of the options.'),
      z
        .strictObject({
          type: z.literal('choices'),
          ...chosen,
          atLeast: z.number().int().min(0).optional().describe('Minimum number of chosen options.'),
          atMost: z.number().int().min(1).optional().describe('Maximum number of chosen options.'),
        })
        .describe('Several of the options.'),
      z.strictObject({ type: z.literal('consent'), ...question, label: text }).describe('Yes or no.'),
      z.strictObject({ type: z.literal('link'), ...common, label: text, url: HttpsUrl }).describe('No answer.'),
    ],
    'must be one of nps, text, rating, choice, choices, consent, link',
  )
  return {
    title: text.optional(),
    elements: z.array(element).min(1).max(MAX_ELEMENTS),
    thanks: text.optional().describe('Shown once the form is finished.'),
  }
}

/** A content whose members have valid shapes. */
export const ContentShape = z.strictObject({
  languages: z.array(LanguageTag).min(1).max(MAX_LANGUAGES).default(['en']).describe('The first is the default.'),
  ...contentMembers(ContentText),
})
export type ContentShape = z.infer<typeof ContentShape>
export type ContentElement = ContentShape['elements'][number]

/** A content in one language, as pages get it. */
export const LocalizedContent = z.strictObject(contentMembers(PlainText))
export type LocalizedContent = z.infer<typeof LocalizedContent>
export type LocalizedElement = LocalizedContent['elements'][number]

/** The content of a form in the catalog: the record `FormContentApplied` with these members has the content itself. */
export const FormContentRef = z.strictObject({
  /** The revision of the organization that changed this content last. */
  revision: z.number().int().min(1),
  /** The hash of the content (`contentHashOf` in packages/domain). */
  hash: z.string().regex(/^[0-9a-f]{16}$/, 'must be 16 hex characters'),
})
export type FormContentRef = z.infer<typeof FormContentRef>
