import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

export interface RunbookLinkProps {
  /** Of a page of docs/runbooks, such as `lag`. */
  readonly name: string
  readonly children?: ReactNode
}

/** The way to a runbook, which the console shows itself. */
export function RunbookLink({ name, children = name }: RunbookLinkProps) {
  return (
    <Link to="/runbooks/$name" params={{ name }}>
      {children}
    </Link>
  )
}

const NAMED = /(\bOverview\b|docs\/runbooks\/[\w-]+\.md)/

/** A text of ours, where the Overview and runbooks that it names are links. Not for what a user said. */
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
