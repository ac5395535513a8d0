import { Link, useLocation, useParams } from '@tanstack/react-router'
import { type ComponentProps, useEffect, useRef } from 'react'
import Markdown, { type Components, type ExtraProps } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { EmptyNote } from '../components/notes.tsx'
import { RunbookLink } from '../components/with-links.tsx'

const MODULES = import.meta.glob<string>('../../../../../docs/runbooks/*.md', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** Texts of the runbooks by name, such as `lag`. They are part of the bundle, so they open offline. */
const RUNBOOKS: ReadonlyMap<string, string> = new Map(
  Object.entries(MODULES).map(([path, text]) => [path.split('/').at(-1)?.replace('.md', '') ?? '', text]),
)

const PLUGINS = [remarkGfm]
/** A link from one runbook to another: its name, and the id of a heading. */
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
  h2: (props) => <Heading level="h2" {...props} />,
  h3: (props) => <Heading level="h3" {...props} />,
  table: ({ children }) => (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must reach the scroll bar
    <section className="scroll" tabIndex={0} aria-label="Table">
      <table>{children}</table>
    </section>
  ),
  // An empty head is not a heading of its column.
  th: ({ children }) => {
    const Cell = children === undefined ? 'td' : 'th'
    return <Cell>{children}</Cell>
  },
}

interface HeadingProps extends ComponentProps<'h2'>, ExtraProps {
  readonly level: 'h2' | 'h3'
}

/** A heading that links can target. */
function Heading({ level: Level, node, children }: HeadingProps) {
  const id = node && headingId(textOf(node))
  const heading = useRef<HTMLHeadingElement>(null)
  const isTarget = useLocation({ select: ({ hash }) => hash === id })
  // The router may have searched for it before it was rendered.
  useEffect(() => {
    if (isTarget) heading.current?.scrollIntoView()
  }, [isTarget])
  return (
    <Level id={id} ref={heading}>
      {children}
    </Level>
  )
}

type Content = NonNullable<ExtraProps['node']>['children'][number]

function textOf(node: Content): string {
  if (node.type === 'text') return node.value
  return node.type === 'element' ? node.children.map(textOf).join('') : ''
}

/** Returns the id of a heading as GitHub makes it: `postgres-is-older-than-kafka`. */
function headingId(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/** A page of docs/runbooks, as of the build. */
export function Runbook() {
  const { name } = useParams({ from: '/runbooks/$name' })
  const text = RUNBOOKS.get(name)
  return (
    <>
      <nav aria-label="Breadcrumbs" className="crumbs">
        <RunbookLink name="README">Runbooks</RunbookLink> / {name}
      </nav>
      {text === undefined ? (
        <EmptyNote>
          There is no such runbook. See the <RunbookLink name="README">list of runbooks</RunbookLink>, or go back to the{' '}
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
