import { TEST_IS_SENT_ONCE } from '@nextvisit/contracts'
import { CliError, EXIT } from '../errors.ts'
import type { ProjectName } from '../find-project.ts'
import { print } from '../output/print.ts'
import { formatCount } from '../output/progress.ts'
import { answerAbout, connectDispatcher, recordCommand } from './ask-dispatcher.ts'
import { rangeOf, requireRange } from './replay-webhook.ts'
import { noDelivery } from './show-deliveries.ts'

export interface RetryFlags {
  readonly project: ProjectName
  /** Ms since the epoch. */
  readonly from?: number
  readonly to?: number
}

/** Sends one delivery again, or the failed ones whose records are in a range of time. */
export async function retryDeliveries(
  endpointId: string,
  deliveryId: string | undefined,
  { project, from, to }: RetryFlags,
  topic: string,
): Promise<void> {
  if ((deliveryId === undefined) === (from === undefined) || (from === undefined && to !== undefined))
    throw new CliError('Name one delivery by its id, or failed ones by --from and --to.', EXIT.usage)
  if (from !== undefined) requireRange(from, to)
  const dispatcher = await connectDispatcher(project, topic)
  const { any, patient, place } = dispatcher
  if (from === undefined) {
    const id = deliveryId ?? ''
    const wanted = { kind: 'webhook.retry', target: endpointId, details: { deliveryId: id } } as const
    const asked = await recordCommand(dispatcher, wanted, () =>
      any.retryDelivery({ ...place, endpointId, deliveryId: id }),
    )
    const begun = await answerAbout(dispatcher, endpointId, asked, noDelivery(endpointId, id))
    if (begun === TEST_IS_SENT_ONCE)
      throw new CliError(`A test is sent once. Send another one: nextvisit webhooks test ${endpointId}.`)
    return print(`Delivery ${begun.deliveryId} is sent again.`)
  }
  const range = rangeOf(from, to)
  const asked = await recordCommand(dispatcher, { kind: 'webhook.retry', target: endpointId, details: range }, () =>
    patient.retryFailed({ ...place, endpointId, ...range }),
  )
  const { retried } = await answerAbout(dispatcher, endpointId, asked)
  print(`${formatCount(retried)} failed ${retried === 1 ? 'delivery is' : 'deliveries are'} sent again.`)
}
