import type { ReactNode } from 'react'
import { WithLinks } from './with-links.tsx'

/** Shows an error, and what to do about it. */
export function ErrorNote({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  return (
    <div className="note error" role="alert">
      <span>
        <WithLinks text={error.message} />
      </span>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Replaces an empty list. */
export function EmptyNote({ children }: { readonly children: ReactNode }) {
  return (
    <p className="note empty">
      <span>{children}</span>
    </p>
  )
}

/** Replaces an empty table: describes its content, and how to get some. */
export function EmptyCard({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="card table-card">
      <h2>{title}</h2>
      <EmptyNote>{children}</EmptyNote>
    </section>
  )
}

export function Loading({ what }: { readonly what: string }) {
  return <output className="note loading">Loading {what} …</output>
}
