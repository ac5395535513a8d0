import { type ReactNode, useId } from 'react'

/** A table in a card; where it is too wide, it scrolls within the card, also by keyboard. */
export function TableCard({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const id = useId()
  return (
    <div className="card table-card">
      <h2 id={id}>{title}</h2>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- who uses a keyboard must reach its scroll bar */}
      <section className="scroll" tabIndex={0} aria-labelledby={id}>
        <table>{children}</table>
      </section>
    </div>
  )
}
