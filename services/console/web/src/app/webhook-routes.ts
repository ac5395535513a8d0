import { createRoute } from '@tanstack/react-router'
import { DELIVERY_STATUSES } from '../../../src/shared-with-pages.ts'
import { Delivery } from '../webhooks/delivery.tsx'
import { Endpoint } from '../webhooks/endpoint.tsx'
import { Webhooks } from '../webhooks/webhooks.tsx'
import { root } from './root-route.tsx'
import { text } from './search-values.ts'

export const webhooks = createRoute({
  getParentRoute: () => root,
  path: '/webhooks',
  component: Webhooks,
  staticData: { title: 'Webhooks' },
  validateSearch: (search): { readonly project?: string | undefined } => ({ project: text(search['project']) }),
})

/** `user`: a userId. `after`: the cursor of the page. */
interface EndpointSearch {
  readonly status?: (typeof DELIVERY_STATUSES)[number] | undefined
  readonly user?: string | undefined
  readonly after?: string | undefined
}

export const endpoint = createRoute({
  getParentRoute: () => root,
  path: '/webhooks/$organization/$project/$endpointId',
  component: Endpoint,
  staticData: { title: 'Webhook endpoint' },
  validateSearch: (search): EndpointSearch => ({
    status: DELIVERY_STATUSES.find((status) => status === search['status']),
    user: text(search['user']),
    after: text(search['after']),
  }),
})

export const delivery = createRoute({
  getParentRoute: () => root,
  path: '/webhooks/$organization/$project/$endpointId/$deliveryId',
  component: Delivery,
  staticData: { title: 'Webhook delivery' },
})
