import { MAX_QUEUED_FORMS, type QueuedForm } from '@nextvisit/contracts'

/**
 * Why a visit that no form was recorded for got none, in words, from the user's queue as it is now. Undefined where that
 * is not known.
 */
export function whyNoForm(visitAt: string, queue: readonly QueuedForm[]): string | undefined {
  if (queue.some(({ offeredAt }) => offeredAt === visitAt)) return undefined
  const open = queue.filter((row) => wasOpen(row, visitAt))
  const visible = open.filter(({ showFrom }) => showFrom <= visitAt).map(({ formId }) => formId)
  if (visible.length > 0)
    return `none, though ${visible.join(', ')} waited: not live, not for this user any more, too soon after another form, offered to another visit, or the answer came too late`
  // Nobody keeps when they were cancelled: they may have waited then.
  if (queue.some(({ state, queuedAt }) => state === 'cancelled' && queuedAt <= visitAt)) return undefined
  const [first] = open.toSorted((one, other) => (one.showFrom < other.showFrom ? -1 : 1))
  if (first) return `none yet: ${first.formId} may be shown from ${first.showFrom}`
  return queue.length < MAX_QUEUED_FORMS ? 'none: no form waited for the user' : undefined
}

function wasOpen({ state, queuedAt, deliveredAt, expiresAt }: QueuedForm, at: string): boolean {
  if (state === 'cancelled' || queuedAt > at) return false
  return (deliveredAt === null || deliveredAt > at) && (expiresAt === null || expiresAt > at)
}
