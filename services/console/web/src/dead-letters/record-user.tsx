import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { LetterAnswer } from '../../../src/api/dead-letters.ts'
import { userOfRecord } from '../../../src/dead-letters/user-of-record.ts'
import { PROJECTS } from '../parts/with-project.tsx'

/** The way to the user that a record is about, where it says whom. */
export function RecordUser({ content }: { readonly content: NonNullable<LetterAnswer['content']> }) {
  const { data } = useQuery(PROJECTS)
  const user = data && userOfRecord(content, data.projects)
  if (!user) return null
  return (
    <Link to="/users/$organization/$project/$userId" params={user}>
      The user in {user.organization}/{user.project}
    </Link>
  )
}
