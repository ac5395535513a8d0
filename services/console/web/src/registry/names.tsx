import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { Answer, Input } from '../../../src/api-routes.ts'
import { MAX_SEARCH_CHARACTERS, unitsOf } from '../../../src/shared-with-pages.ts'
import { callApi } from '../app/api.ts'
import { figure } from '../components/figures.ts'
import { EmptyCard } from '../components/notes.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import type { ChosenProject } from '../components/with-project.tsx'

const KINDS = [
  { kind: 'traits', title: 'Traits' },
  { kind: 'events', title: 'Events' },
] as const satisfies readonly { kind: Input<'listNames'>['kind']; title: string }[]

/** Pages of the traits or events of a project. */
export function Names({ project: { path } }: { readonly project: ChosenProject }) {
  const { kind = 'traits', prefix = '' } = useSearch({ from: '/registry' })
  const navigate = useNavigate()
  const [typed, setTyped] = useState(prefix)
  const names = useInfiniteQuery({
    queryKey: ['listNames', { ...path, kind, prefix }],
    queryFn: ({ pageParam }) => callApi('listNames', { ...path, kind, prefix, after: pageParam ?? undefined }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  })
  const filter = (next: string) => {
    setTyped(next)
    void navigate({ to: '.', replace: true, search: (now) => ({ ...now, prefix: next || undefined }) })
  }
  return (
    <section aria-label="Names">
      <nav aria-label="Kind of name" className="tabs">
        {KINDS.map((one) => (
          <Link
            key={one.kind}
            to="."
            replace
            search={(now) => ({ ...now, kind: one.kind })}
            aria-current={one.kind === kind ? 'page' : undefined}
          >
            {one.title}
          </Link>
        ))}
      </nav>
      <search className="filters bare">
        <label>
          Name begins with
          <input
            type="search"
            maxLength={unitsOf(MAX_SEARCH_CHARACTERS)}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={(event) => filter(event.target.value)}
          />
        </label>
      </search>
      <WithAnswer query={names} name={`the ${kind}`}>
        {({ pages }) => <NamesTable kind={kind} prefix={prefix} lines={pages.flatMap((page) => page.names)} />}
      </WithAnswer>
      {names.hasNextPage && (
        <p className="more">
          <button type="button" disabled={names.isFetchingNextPage} onClick={() => void names.fetchNextPage()}>
            {names.isFetchingNextPage ? 'Loading …' : 'More'}
          </button>
        </p>
      )}
    </section>
  )
}

const EMPTY: { readonly [Kind in Input<'listNames'>['kind']]: string } = {
  traits: 'No record of this project contains a trait yet. Set traits with identify-user.',
  events: 'No record of this project contains an event yet. Record events with track-event.',
}

interface NamesTableProps {
  readonly kind: Input<'listNames'>['kind']
  readonly prefix: string
  readonly lines: Answer<'listNames'>['names']
}

function NamesTable({ kind, prefix, lines }: NamesTableProps) {
  const title = KINDS.find((one) => one.kind === kind)?.title ?? ''
  if (lines.length === 0) {
    return <EmptyCard title={title}>{prefix === '' ? EMPTY[kind] : `No ${kind} begin with “${prefix}”.`}</EmptyCard>
  }
  return (
    <>
      <TableCard title={title} columns={['Name', 'Workspace', right('Times'), 'First seen', 'Last seen']}>
        {lines.map((line) => (
          <Name key={line.slug} line={line} />
        ))}
      </TableCard>
      <p className="quiet hint">
        {kind === 'events' ? 'Disabled events are refused (400).' : 'Values of disabled traits are not recorded.'}{' '}
        Imports and test keys also register names.
      </p>
    </>
  )
}

function Name({
  line: { slug, name, isDisabled, isDeclared, firstSeenAt, lastSeenAt, count },
}: {
  readonly line: Answer<'listNames'>['names'][number]
}) {
  return (
    <tr>
      <th scope="row" className="name">
        {slug}
        {name !== null && name !== slug && <span className="quiet"> {name}</span>}
      </th>
      <td>
        {isDisabled && <span className="pill disabled">disabled</span>}
        {isDeclared && <span className="pill">declared</span>}
      </td>
      <td className="right num">{figure(count)}</td>
      <td>{firstSeenAt ? <Time at={firstSeenAt} /> : 'never'}</td>
      <td>{lastSeenAt ? <Time at={lastSeenAt} /> : 'never'}</td>
    </tr>
  )
}
