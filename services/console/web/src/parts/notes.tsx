import type { ReactNode } from 'react'

/** Why something is not there, and what to do. */
export function ErrorNote({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  return (
    <div className="note error" role="alert">
      <span>{error.message}</span>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** A list with nothing in it says what would be there. */
export function EmptyNote({ children }: { readonly children: ReactNode }) {
  return (
    <p className="note empty">
      <span>{children}</span>
    </p>
  )
}

export function Loading({ what }: { readonly what: string }) {
  return <output className="note loading">Loading {what} …</output>
}
