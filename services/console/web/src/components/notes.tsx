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

interface EmptyListProps {
  readonly title: string
  /** Member of the workspace file that declares the things of the list. */
  readonly things: 'forms' | 'segments' | 'webhooks'
  /** Number of these things in the project. */
  readonly total: number
  /** Reason for the empty list if there are such things. */
  readonly children?: ReactNode
}

/** Replaces an empty list of things that the workspace file declares. */
export function EmptyList({ title, things, total, children = 'There is no such page.' }: EmptyListProps) {
  if (total > 0) return <EmptyCard title={title}>{children}</EmptyCard>
  return (
    <EmptyCard title={title}>
      The project has no {things}. Declare one under <code>{things}</code> in the workspace file, then run{' '}
      <code>nextvisit apply FILE</code>.
    </EmptyCard>
  )
}

export function Loading({ name }: { readonly name: string }) {
  return <output className="note loading">Loading {name} …</output>
}
