import { Link, useParams } from '@tanstack/react-router'
import Markdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { EmptyNote } from '../parts/notes.tsx'
import { RunbookLink } from '../parts/with-links.tsx'
import { RUNBOOKS } from './runbooks.ts'

const PLUGINS = [remarkGfm]
/** A link to a runbook, from another one. */
const RUNBOOK = /^([\w-]+)\.md(#.*)?$/
const ABOVE = /^(\.\.\/)+/

const COMPONENTS: Components = {
  a: ({ href = '', children }) => {
    const [, name] = RUNBOOK.exec(href) ?? []
    if (name !== undefined) return <RunbookLink name={name}>{children}</RunbookLink>
    return (
      <>
        {children} (<code>{href.replace(ABOVE, 'docs/')}</code>)
      </>
    )
  },
  table: ({ children }) => (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- who uses a keyboard must reach its scroll bar
    <section className="scroll" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
  // A blank head of a table names nothing.
  th: ({ children }) => {
    const Cell = children === undefined ? 'td' : 'th'
    return <Cell>{children}</Cell>
  },
}

/** A page of docs/runbooks, as it was when the pages were built. */
export function Runbook() {
  const { name } = useParams({ from: '/runbooks/$name' })
  const text = RUNBOOKS.get(name)
  return (
    <>
      <nav aria-label="Where you are" className="crumbs">
        <RunbookLink name="README">Runbooks</RunbookLink> / {name}
      </nav>
      {text === undefined ? (
        <EmptyNote>
          There is no such runbook. <RunbookLink name="README">These are all</RunbookLink>, or go back to the{' '}
          <Link to="/">Overview</Link>.
        </EmptyNote>
      ) : (
        <article className="card runbook">
          <Markdown remarkPlugins={PLUGINS} components={COMPONENTS}>
            {text}
          </Markdown>
        </article>
      )}
    </>
  )
}
