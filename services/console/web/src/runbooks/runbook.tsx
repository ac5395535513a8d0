import { Link, useLocation, useParams } from '@tanstack/react-router'
import { type ComponentProps, useEffect, useRef } from 'react'
import Markdown, { type Components, type ExtraProps } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { EmptyNote } from '../parts/notes.tsx'
import { RunbookLink } from '../parts/with-links.tsx'
import { RUNBOOKS } from './runbooks.ts'

const PLUGINS = [remarkGfm]
/** A link to a runbook, from another one: its name, and the id of a heading. */
const RUNBOOK = /^([\w-]+)\.md(?:#(.+))?$/
const ABOVE = /^(\.\.\/)+/

const COMPONENTS: Components = {
  a: ({ href = '', children }) => {
    const [, name, hash] = RUNBOOK.exec(href) ?? []
    if (name !== undefined)
      return (
        <RunbookLink name={name} hash={hash}>
          {children}
        </RunbookLink>
      )
    return (
      <>
        {children} (<code>{href.replace(ABOVE, 'docs/')}</code>)
      </>
    )
  },
  h2: Heading,
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

/** A heading that links lead to. */
function Heading({ node, children }: ComponentProps<'h2'> & ExtraProps) {
  const id = node && headingId(textOf(node))
  const heading = useRef<HTMLHeadingElement>(null)
  const isMeant = useLocation({ select: ({ hash }) => hash === id })
  // The router may have looked for it before it was there.
  useEffect(() => {
    if (isMeant) heading.current?.scrollIntoView()
  }, [isMeant])
  return (
    <h2 id={id} ref={heading}>
      {children}
    </h2>
  )
}

type Content = NonNullable<ExtraProps['node']>['children'][number]

function textOf(node: Content): string {
  if (node.type === 'text') return node.value
  return node.type === 'element' ? node.children.map(textOf).join('') : ''
}

/** As GitHub makes it: `Postgres is older than Kafka` is `postgres-is-older-than-kafka`. */
function headingId(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
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
