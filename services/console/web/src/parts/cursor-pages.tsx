import { useNavigate } from '@tanstack/react-router'

export interface CursorPagesProps {
  /** Of the address; absent: the first page. */
  readonly after: string | undefined
  readonly next: string | null
}

/** To the first and to the next page of a list that is too long to be numbered; the browser's way back leads to the one before. */
export function CursorPages({ after, next }: CursorPagesProps) {
  const navigate = useNavigate()
  if (after === undefined && next === null) return null
  const go = (to: string | undefined) => void navigate({ to: '.', search: (now) => ({ ...now, after: to }) })
  return (
    <nav aria-label="Pages" className="pages">
      <button type="button" disabled={after === undefined} onClick={() => go(undefined)}>
        First page
      </button>
      <button type="button" disabled={next === null} onClick={() => next !== null && go(next)}>
        Next page
      </button>
    </nav>
  )
}
