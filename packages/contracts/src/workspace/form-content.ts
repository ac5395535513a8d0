import type { z } from 'zod'
import { ContentShape } from './content-shape.ts'
import { contentFaults } from './content-rules.ts'

/**
 * The content of a form (forms.md, Content): elements with texts in all of its languages. A map of texts has exactly the
 * form's languages, and `showIf` has no cycle.
 */
export const FormContent = ContentShape.check(({ value, issues }) => {
  // The rules are for a bounded number of elements and options.
  if (issues.length > 0) return
  for (const fault of contentFaults(value)) issues.push({ code: 'custom', input: value, ...fault })
})
export type FormContent = z.infer<typeof FormContent>
