import type { SegmentLine } from '../../../src/segments/api.ts'
import { figure } from '../components/figures.ts'

/** Number of users computed with the current definition of a segment. */
export function Progress({ segment: { id, usersComputed, usersTotal } }: { readonly segment: SegmentLine }) {
  const words = `${figure(usersComputed)} of ${figure(usersTotal)} users`
  if (usersComputed >= usersTotal) return <>{usersTotal === 0 ? 'no users yet' : 'all users'}</>
  return (
    <>
      <progress max={usersTotal} value={usersComputed} aria-label={`Computed of ${id}`} /> {words}
    </>
  )
}
