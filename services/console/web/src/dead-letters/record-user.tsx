import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { LetterAnswer } from '../../../src/dead-letters/api.ts'
import { apiQuery } from '../app/use-api.ts'
import { userOfRecord } from './user-of-record.ts'

/** The way to the user that a record is about, where it says whom. */
export function RecordUser({ content }: { readonly content: NonNullable<LetterAnswer['content']> }) {
  const { data } = useQuery(apiQuery('listProjects', {}))
  const user = data && userOfRecord(content, data.projects)
  if (!user) return null
  return (
    <Link to="/users/$organization/$project/$userId" params={user}>
      The user in {user.organization}/{user.project}
    </Link>
  )
}
