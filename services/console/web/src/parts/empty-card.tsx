import type { ReactNode } from 'react'
import { EmptyNote } from './notes.tsx'

/** In place of a table with nothing in it: what it would show, and how something gets there. */
export function EmptyCard({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="card table-card">
      <h2>{title}</h2>
      <EmptyNote>{children}</EmptyNote>
    </section>
  )
}
