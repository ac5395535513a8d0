import { useNavigate } from '@tanstack/react-router'

export interface PagesProps {
  readonly page: number
  readonly hasNext: boolean
  /** How many there are in all, such as `120 forms`. */
  readonly what: string
}

/** To the page before and after, by the address; nothing where there is one page only. */
export function Pages({ page, hasNext, what }: PagesProps) {
  const navigate = useNavigate()
  if (page === 1 && !hasNext) return null
  const go = (to: number) => void navigate({ to: '.', search: (now) => ({ ...now, page: to === 1 ? undefined : to }) })
  return (
    <nav aria-label="Pages" className="pages">
      <button type="button" disabled={page === 1} onClick={() => go(page - 1)}>
        Previous page
      </button>
      <span className="quiet">
        page {page}, {what} in all
      </span>
      <button type="button" disabled={!hasNext} onClick={() => go(page + 1)}>
        Next page
      </button>
    </nav>
  )
}
