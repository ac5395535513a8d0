import type { QueuedForm } from '@nextvisit/contracts'

/** What became of a form since it was queued, as a sentence. */
export function becameOf(row: QueuedForm, nowMs: number): string {
  const { state, queuedAt, showFrom, offeredAt, deliveredAt, expiresAt } = row
  switch (state) {
    case 'waiting':
      return Date.parse(showFrom) > nowMs
        ? `It waits since ${queuedAt}, and may be shown from ${showFrom}.`
        : `It waits for the user's next visit since ${queuedAt}.`
    case 'offered':
      return `It was offered to a visit at ${offeredAt}, which has not confirmed it yet.`
    case 'delivered':
      return `It was shown at ${deliveredAt}.`
    case 'expired':
      return `It expired at ${expiresAt}, before it was shown.`
    case 'cancelled':
      return 'It was cancelled: the workspace removed or disabled the form.'
  }
}
