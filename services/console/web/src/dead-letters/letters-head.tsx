import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export interface LettersHeadProps {
  readonly consumer: string
  /** Of the cause that one letter belongs to. */
  readonly causeId?: string
  readonly title: string
  /** What can be done. */
  readonly children?: ReactNode
}

/** Where the reader is, and the buttons of an operator. */
export function LettersHead({ consumer, causeId, title, children }: LettersHeadProps) {
  return (
    <>
      <nav aria-label="Where you are" className="crumbs">
        <Link to="/operations" search={{ consumer }}>
          Operations
        </Link>{' '}
        / {consumer} /{' '}
        {causeId === undefined ? (
          'dead letters'
        ) : (
          <Link to="/operations/$consumer/dead-letters" params={{ consumer }} search={{ cause: causeId }}>
            dead letters
          </Link>
        )}
      </nav>
      <header className="page-head letters-head">
        <h1>{title}</h1>
        {children}
      </header>
    </>
  )
}
