import { Link } from '@tanstack/react-router'

export interface LetterLinkProps {
  readonly consumer: string
  readonly id: string
}

/** The way to one dead letter. */
export function LetterLink({ consumer, id }: LetterLinkProps) {
  return (
    <Link to="/operations/$consumer/dead-letters/$id" params={{ consumer, id }}>
      {consumer}/{id}
    </Link>
  )
}
