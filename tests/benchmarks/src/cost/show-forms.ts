import { callCarefully, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { type ShownForm, USERS } from './cost-loads.ts'

const AT_ONCE = 16

/** Queues the form `answered` of benchmark-workspace.yaml for each user of the loads, and shows it to them. */
export async function showForms({ gatewayUrl, keys }: ThrowAwayStack): Promise<readonly ShownForm[]> {
  const shown: ShownForm[] = []
  let next = 0
  const showNext = async (): Promise<void> => {
    while (next < USERS) {
      const userName = `user-${next++}`
      const event = { userName, eventName: 'Asked' }
      await callCarefully({ gatewayUrl, route: '/v2/admin/track-event', apiKey: keys.admin, body: event })
      const visit = { gatewayUrl, route: '/v2/sdk/identify-user', apiKey: keys.sdk, body: { userName } }
      const { nextFeedback } = (await callCarefully(visit)).answer as { readonly nextFeedback?: ShownForm }
      if (!nextFeedback) throw new Error('A user who was asked got no form')
      const { offerId, formId, revision } = nextFeedback
      shown.push({ userName, offerId, formId, revision })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, showNext))
  return shown
}
