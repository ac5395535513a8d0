import { useNavigate } from '@tanstack/react-router'

interface PagesProps {
  readonly page: number
  readonly hasNext: boolean
  /** Total, such as `120 forms`. */
  readonly total: string
}

/** Links to the previous and the next page, by the address. Hidden if there is only one page. */
export function Pages({ page, hasNext, total }: PagesProps) {
  const navigate = useNavigate()
  if (page === 1 && !hasNext) return null
  const go = (to: number) => void navigate({ to: '.', search: (now) => ({ ...now, page: to === 1 ? undefined : to }) })
  return (
    <nav aria-label="Pages" className="pages">
      <button type="button" disabled={page === 1} onClick={() => go(page - 1)}>
        Previous page
      </button>
      <span className="quiet">
        Page {page}, {total} in total
      </span>
      <button type="button" disabled={!hasNext} onClick={() => go(page + 1)}>
        Next page
      </button>
    </nav>
  )
}

interface CursorPagesProps {
  /** From the address; absent on the first page. */
  readonly after: string | undefined
  readonly next: string | null
}

/** Links to the first and the next page of a long list. The browser's back button leads to the previous page. */
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
