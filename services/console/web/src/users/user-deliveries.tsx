import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Answer } from '../../../src/api-routes.ts'
import type { UserPath } from '../../../src/users/api.ts'
import { pageQuery } from '../app/api.ts'
import { EmptyCard, EmptyNote } from '../components/notes.tsx'
import { TableCard } from '../components/table-card.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { DELIVERY_COLUMNS, DeliveryCells } from '../webhooks/delivery-cells.tsx'
import { StaleNote } from '../webhooks/stale-note.tsx'

/** The latest deliveries of webhooks about the user, to all endpoints of the project. */
export function UserDeliveries({ path }: { readonly path: UserPath }) {
  const query = useQuery(pageQuery('listUserDeliveries', path))
  return (
    <WithAnswer query={query} name="the deliveries">
      {(answer) => <Listed {...answer} path={path} />}
    </WithAnswer>
  )
}

function Listed({ deliveries, endpoints, isStale, path }: Answer<'listUserDeliveries'> & { readonly path: UserPath }) {
  if (endpoints.length === 0)
    return (
      <EmptyNote>
        The project has no webhooks. Declare one under <code>webhooks</code> in the workspace file.
      </EmptyNote>
    )
  const { organization, project } = path
  const withMore = endpoints.filter(({ hasMore }) => hasMore)
  return (
    <>
      <StaleNote isStale={isStale} />
      {deliveries.length === 0 ? (
        <EmptyCard title="Webhook deliveries">
          None about this user. Deliveries are kept for 30 days after they end, and deleted when the user is erased.
        </EmptyCard>
      ) : (
        <TableCard title="Webhook deliveries" columns={[...DELIVERY_COLUMNS, 'Endpoint']}>
          {deliveries.map(({ endpointId, ...delivery }) => (
            <tr key={delivery.deliveryId}>
              <DeliveryCells delivery={delivery} path={{ organization, project, endpointId }} />
              <td>
                <EndpointLink path={path} endpointId={endpointId} />
              </td>
            </tr>
          ))}
        </TableCard>
      )}
      {withMore.length > 0 && (
        <p className="quiet hint">
          The latest deliveries to each endpoint. All of them:{' '}
          {withMore.map(({ endpointId }, index) => (
            <span key={endpointId}>
              {index > 0 && ', '}
              <EndpointLink path={path} endpointId={endpointId} />
            </span>
          ))}
        </p>
      )}
    </>
  )
}

/** Leads to the deliveries about the user at an endpoint. */
function EndpointLink({ path, endpointId }: { readonly path: UserPath; readonly endpointId: string }) {
  const { organization, project, userId } = path
  return (
    <Link
      to="/webhooks/$organization/$project/$endpointId"
      params={{ organization, project, endpointId }}
      search={{ user: userId }}
    >
      {endpointId}
    </Link>
  )
}
