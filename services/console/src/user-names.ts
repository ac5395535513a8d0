import type { ProjectRef } from '@nextvisit/contracts'
import type { Dependencies } from './dependencies.ts'

/** Creates a function that reads the userNames of users, in their order, as far as the projector answers. null: not known. */
export function createReadUserNames({ projector }: Pick<Dependencies, 'projector'>) {
  return async (
    userIds: readonly string[],
    { organization, project }: ProjectRef,
    signal: AbortSignal,
  ): Promise<readonly (string | null)[]> => {
    if (userIds.length === 0) return []
    const questions = userIds.map((userId) => ({ organization, project, userId }))
    const read = await projector.readUserNames({ questions }, signal)
    const named = read.outcome === 'answered' ? read.answer.answers : []
    return userIds.map((_, index) => named[index]?.userName ?? null)
  }
}
