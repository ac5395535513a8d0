import { z } from 'zod'
import { SlugId, Uuid } from '../primitives.ts'

/** Fields that name a project. */
export const projectFields = { organization: SlugId, project: SlugId }

/** Fields that name a record before it is published. The owner of the partition cleans up if the record never arrives. */
export const unpublishedFields = { recordId: Uuid, partition: z.number().int().min(0) }

/** Asks about one user. */
export const UserQuery = z.object({ ...projectFields, userId: Uuid })
export type UserQuery = z.infer<typeof UserQuery>
