import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

interface RunbookLinkProps {
  /** Page of docs/runbooks, such as `lag`. */
  readonly name: string
  /** Id of a heading of that page. */
  readonly hash?: string | undefined
  readonly children?: ReactNode
}

/** Link to a runbook in the console. */
export function RunbookLink({ name, hash, children = name }: RunbookLinkProps) {
  return (
    <Link to="/runbooks/$name" params={{ name }} {...(hash !== undefined && { hash })}>
      {children}
    </Link>
  )
}

const NAMED = /(\bOverview\b|docs\/runbooks\/[\w-]+\.md)/

/** Text in which the Overview and runbooks are links. There are no other links, because a text may quote a user. */
export function WithLinks({ text }: { readonly text: string }) {
  // Every second part is a name.
  return text
    .split(NAMED)
    .map((part, index) => (index % 2 === 1 ? <Named key={`${index}/${part}`} name={part} /> : part))
}

function Named({ name }: { readonly name: string }) {
  if (name === 'Overview') return <Link to="/">{name}</Link>
  return <RunbookLink name={name.slice('docs/runbooks/'.length, -'.md'.length)} />
}
