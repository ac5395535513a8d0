import { z } from 'zod'
import { Instant, SlugId } from '../primitives.ts'
import { FormContentRef } from '../workspace/content-shape.ts'
import { FormContent } from '../workspace/form-content.ts'
import { OrganizationConfig } from '../workspace/organization-config.ts'

/**
 * One revision of an organization. A record counts if its `revision` is greater than that of every earlier record of the
 * organization, so the first of two records with one revision wins, and older records may be compacted away. Readers use
 * `readOrganizationConfig`, because a later version may have written the record.
 */
export const OrganizationConfigured = z
  .object({
    type: z.literal('OrganizationConfigured').describe('As in `ce_type`.'),
    id: z.uuid().describe('As in `ce_id`. Readers drop duplicates by it.'),
    organization: SlugId.describe('The configured organization. The Kafka key begins with it.'),
    revision: z
      .number()
      .int()
      .min(1)
      .describe(
        'The record counts if this is greater than in every earlier record of the organization; of equal ones the first counts.',
      ),
    config: OrganizationConfig.nullable().describe(
      'The whole configuration, as in the workspace file (docs/spec/decisions.md), keys as SHA-256 only; null removes the organization.',
    ),
    appliedAt: Instant.describe('The time when it was applied.'),
    appliedBy: z.string().describe('The operating system user who applied it.'),
  })
  .describe('A revision of an organization: plan, projects, keys, segments, forms.')
export type OrganizationConfigured = z.infer<typeof OrganizationConfigured>

/** Members of the record that readers need besides the configuration. */
export const OrganizationConfiguredEnvelope = z.object({
  ...OrganizationConfigured.pick({ type: true, id: true, organization: true, revision: true }).shape,
  config: z.unknown(),
  appliedAt: OrganizationConfigured.shape.appliedAt.optional().catch(undefined),
  appliedBy: OrganizationConfigured.shape.appliedBy.optional().catch(undefined),
})

/**
 * The content of a form since a revision. It precedes the revision's `OrganizationConfigured`, which names its hash. Of two
 * contents of one revision, the one that is named counts. It is kept: offers and answers refer to old contents.
 */
export const FormContentApplied = z
  .object({
    type: z.literal('FormContentApplied').describe('As in `ce_type`.'),
    id: z.uuid().describe('As in `ce_id`.'),
    organization: SlugId.describe('The organization of the project.'),
    project: SlugId.describe('The project of the form.'),
    formId: SlugId.describe('The form.'),
    revision: FormContentRef.shape.revision.describe('The revision of the organization that the content begins with.'),
    hash: FormContentRef.shape.hash.describe(
      'The first 16 hex characters of the SHA-256 of `content` as JSON without spaces, with the members of objects sorted by name.',
    ),
    content: FormContent.describe(
      'The elements and texts of the form, in all languages (docs/spec/forms.md, Content).',
    ),
    appliedAt: Instant.describe('The time when it was applied.'),
  })
  .describe('The content of a form, since a revision of its organization.')
export type FormContentApplied = z.infer<typeof FormContentApplied>

/** The same without the content, which a later version may have written. */
export const FormContentEnvelope = z.object({
  ...FormContentApplied.omit({ content: true, appliedAt: true }).shape,
  content: z.unknown(),
})
