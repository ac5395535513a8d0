import type { ProjectRef } from '@nextvisit/contracts'

/** The address of a form's screen. */
export type FormPath = ProjectRef & { readonly formId: string }
