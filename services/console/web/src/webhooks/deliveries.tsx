import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { EndpointPath, ShownDelivery } from '../../../src/webhooks/api.ts'
import { DELIVERY_STATUSES, MAX_USER_NAME_CHARACTERS, unitsOf } from '../../../src/shared-with-pages.ts'
import { callApi, pageQuery, RELOAD_AFTER_MS } from '../app/api.ts'
import { EmptyCard, ErrorNote } from '../components/notes.tsx'
import { CursorPages } from '../components/pages.tsx'
import { TableCard } from '../components/table-card.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { withoutReload } from '../components/without-reload.ts'
import { isUuid } from '../users/is-uuid.ts'
import { DELIVERY_COLUMNS, DeliveryCells } from './delivery-cells.tsx'
import { StaleNote } from './stale-note.tsx'

const ROUTE = '/webhooks/$organization/$project/$endpointId'

const PENDING_RELOAD_AFTER_MS = 2_000
const isPending = ({ status }: ShownDelivery): boolean => status === 'pending'

/** The deliveries of an endpoint, newest first. A cursor keeps the pages stable while new ones come. */
export function Deliveries({ path }: { readonly path: EndpointPath }) {
  const { status, user, after } = useSearch({ from: ROUTE })
  const paged = pageQuery('listDeliveries', { ...path, status, userId: user, after })
  const query = useQuery({
    ...paged,
    refetchInterval: ({ state }) =>
      state.data?.deliveries.some(isPending) ? PENDING_RELOAD_AFTER_MS : RELOAD_AFTER_MS,
  })
  return (
    <>
      <Filters path={path} />
      <WithAnswer query={query} name="the deliveries">
        {({ deliveries, next, isStale }) => (
          <>
            <StaleNote isStale={isStale} />
            <List deliveries={deliveries} path={path} />
            <CursorPages after={after} next={next} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

function List({ deliveries, path }: { readonly deliveries: readonly ShownDelivery[]; readonly path: EndpointPath }) {
  const { status, user, after } = useSearch({ from: ROUTE })
  if (deliveries.length === 0)
    return (
      <EmptyCard title="Deliveries">
        {after !== undefined
          ? 'There are no older deliveries.'
          : status !== undefined || user !== undefined
            ? 'No delivery matches the filter. Deliveries are kept for 30 days after they end.'
            : 'There are no deliveries yet. The next record that the endpoint wants becomes one.'}
      </EmptyCard>
    )
  return (
    <TableCard title="Deliveries" columns={[...DELIVERY_COLUMNS, 'User']}>
      {deliveries.map((delivery) => (
        <tr key={delivery.deliveryId}>
          <DeliveryCells delivery={delivery} path={path} />
          <td>
            <User delivery={delivery} path={path} />
          </td>
        </tr>
      ))}
    </TableCard>
  )
}

function User({
  delivery: { userId, userName },
  path: { organization, project },
}: {
  readonly delivery: ShownDelivery
  readonly path: EndpointPath
}) {
  if (userId === undefined) return '–'
  return (
    <Link
      to="/users/$organization/$project/$userId"
      params={{ organization, project, userId }}
      search={{ tab: 'webhooks' }}
      className={userName === null ? 'mono' : undefined}
    >
      {userName ?? userId}
    </Link>
  )
}

function Filters({ path }: { readonly path: EndpointPath }) {
  const navigate = useNavigate()
  const { status, user } = useSearch({ from: ROUTE })
  const set = (filter: { readonly status?: typeof status; readonly user?: string | undefined }) =>
    void navigate({ to: '.', replace: true, search: (now) => ({ ...now, ...filter, after: undefined }) })
  return (
    <search className="card filters">
      <label>
        Status
        <select
          value={status ?? ''}
          onChange={(event) => set({ status: DELIVERY_STATUSES.find((one) => one === event.target.value) })}
        >
          <option value="">all</option>
          {DELIVERY_STATUSES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      {user === undefined ? (
        <FindUser path={path} onFound={(userId) => set({ user: userId })} />
      ) : (
        <>
          <p>
            Of user <code>{user}</code>
          </p>
          <button type="button" onClick={() => set({ user: undefined })}>
            Of all users
          </button>
        </>
      )}
    </search>
  )
}

/** A userName is personal data: it must not be in the address, so the userId is. */
function FindUser({
  path: { organization, project },
  onFound,
}: {
  readonly path: EndpointPath
  readonly onFound: (userId: string) => void
}) {
  const [searched, setSearched] = useState('')
  const find = useMutation({
    mutationFn: () => callApi('findUser', { organization, project, userName: searched }),
    onSuccess: ({ userId }) => onFound(userId),
  })
  const submit = () => {
    const userId = searched.trim().toLowerCase()
    if (isUuid(userId)) onFound(userId)
    else find.mutate()
  }
  return (
    <form className="filters bare" onSubmit={withoutReload(submit)}>
      <label>
        userName or userId
        <input
          type="search"
          required
          maxLength={unitsOf(MAX_USER_NAME_CHARACTERS)}
          autoComplete="off"
          spellCheck={false}
          value={searched}
          onChange={(event) => setSearched(event.target.value)}
        />
      </label>
      <button type="submit" disabled={find.isPending}>
        Filter
      </button>
      {find.error && <ErrorNote error={find.error} />}
    </form>
  )
}
