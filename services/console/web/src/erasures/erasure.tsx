import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import { apiQuery, RELOAD_AFTER_MS, saveFile } from '../app/api.ts'
import { figure } from '../components/figures.ts'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { WithLinks } from '../components/with-links.tsx'
import { ProjectCrumbs } from '../components/with-project.tsx'

const ROUTE = '/erasures/$organization/$project/$erasureId'
const RUNNING_RELOAD_AFTER_MS = 2_000

type Erasure = Answer<'readErasure'>

/** One erasure: what each store has done, and the receipt. */
export function Erasure() {
  const path = useParams({ from: ROUTE })
  const { organization, project, erasureId } = path
  const query = useQuery({
    ...apiQuery('readErasure', path),
    refetchInterval: ({ state }) => (state.data?.status === 'complete' ? RELOAD_AFTER_MS * 6 : RUNNING_RELOAD_AFTER_MS),
  })
  return (
    <>
      <ProjectCrumbs path={path}>
        <Link to="/erasures" search={{ project: `${organization}/${project}` }}>
          Erasures
        </Link>
      </ProjectCrumbs>
      <header className="page-head user-head">
        <div>
          <h1>Erasure</h1>
          <p className="quiet">
            <code>{erasureId}</code>
          </p>
        </div>
        {query.data?.receipt && <Receipt erasureId={erasureId} receipt={query.data.receipt} />}
      </header>
      <WithAnswer query={query} name="the erasure">
        {(erasure) => (
          <>
            <About erasure={erasure} />
            <Stores erasure={erasure} />
            <NotCovered receipt={erasure.receipt} />
          </>
        )}
      </WithAnswer>
    </>
  )
}

function About({
  erasure: { status, requestedAt, completedAt, users, unknown, suppress },
}: {
  readonly erasure: Erasure
}) {
  return (
    <dl className="settings">
      <dt>Status</dt>
      <dd aria-live="polite">
        <ErasureStatus status={status} />
      </dd>
      <dt>Requested</dt>
      <dd>
        <Time at={requestedAt} />
      </dd>
      {completedAt !== undefined && (
        <>
          <dt>Completed</dt>
          <dd>
            <Time at={completedAt} />
          </dd>
        </>
      )}
      <dt>Users</dt>
      <dd className="num">
        {figure(users)}
        {unknown > 0 && <>, {figure(unknown)} of them without a profile</>}
      </dd>
      <dt>Suppressed</dt>
      <dd>{suppress ? 'yes' : 'no'}</dd>
    </dl>
  )
}

/** `incomplete` needs attention; the work resumes by itself once the part is back. */
export function ErasureStatus({ status }: Pick<Erasure, 'status'>) {
  const pill = { complete: 'delivered', running: 'waiting', incomplete: 'expired' }[status]
  return <span className={`pill ${pill}`}>{status}</span>
}

function Stores({ erasure: { stores } }: { readonly erasure: Erasure }) {
  return (
    <TableCard title="Stores" columns={['Store', 'Status', right('Rows'), 'Finished', 'Remark']}>
      {stores.map(({ store, status, at, dueAt, rows, because }) => (
        <tr key={store}>
          <th scope="row">{store}</th>
          <td>
            <ErasureStatus status={status} />
          </td>
          <td className="right num">{figure(rows)}</td>
          <td>
            <Finished at={at} dueAt={dueAt} />
          </td>
          <td className="value">{because !== undefined && <WithLinks text={because} />}</td>
        </tr>
      ))}
    </TableCard>
  )
}

function Finished({ at, dueAt }: Pick<Erasure['stores'][number], 'at' | 'dueAt'>) {
  if (at !== undefined) return <Time at={at} />
  if (dueAt === undefined) return '–'
  return (
    <span className="quiet">
      at the latest <Time at={dueAt} />
    </span>
  )
}

function Receipt({
  erasureId,
  receipt,
}: {
  readonly erasureId: string
  readonly receipt: NonNullable<Erasure['receipt']>
}) {
  return (
    <div className="reveal">
      <button
        type="button"
        onClick={() => saveFile(`erasure-${erasureId}.json`, `${JSON.stringify(receipt, undefined, 2)}\n`)}
      >
        Download the receipt
      </button>
      <small className="quiet">
        Signed. To check it, run <code>nextvisit receipts verify FILE</code>.
      </small>
    </div>
  )
}

function NotCovered({ receipt }: Pick<Erasure, 'receipt'>) {
  if (!receipt)
    return (
      <p className="quiet hint">
        The profile and the forms disappear within a minute. The keys of the user take longer: an erasure is complete
        when Kafka has deleted their last copy. Then the receipt is here.
      </p>
    )
  return (
    <section className="card table-card">
      <h2>Not covered by this erasure</h2>
      <ul className="text">
        {receipt.notCovered.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  )
}
