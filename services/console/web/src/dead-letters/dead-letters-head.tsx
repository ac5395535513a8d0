import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

interface DeadLettersHeadProps {
  readonly consumer: string
  /** Cause of the shown letter. */
  readonly causeId?: string
  readonly title: string
  /** Actions. */
  readonly children?: ReactNode
}

/** Breadcrumbs, title, and the actions of operators. */
export function DeadLettersHead({ consumer, causeId, title, children }: DeadLettersHeadProps) {
  return (
    <>
      <nav aria-label="Breadcrumbs" className="crumbs">
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
