import { setTimeout as sleep } from 'node:timers/promises'
import {
  DISABLED_IN_FILE,
  MAX_PENDING_TESTS,
  MAX_TESTS_A_DAY,
  TOO_MANY_TESTS,
  TOO_MANY_TESTS_A_DAY,
  type WebhookDeliveryDetail,
} from '@nextvisit/contracts'
import { CliError } from '../errors.ts'
import { type ProjectName, projectName } from '../find-project.ts'
import { escapeInvisible, print } from '../output/print.ts'
import { answerAbout, connectDispatcher, recordCommand } from './ask-dispatcher.ts'
import { attemptInWords, readDelivery } from './show-deliveries.ts'

export interface TestFlags {
  readonly project: ProjectName
  readonly json?: true
}

const ASK_EVERY_MS = 200
/** An attempt takes at most 15 s. */
const ATTEMPTED_WITHIN_MS = 20_000

/** Sends a test to a webhook, and shows how the attempt ended. */
export async function testWebhook(endpointId: string, { project, json }: TestFlags, topic: string): Promise<void> {
  const dispatcher = await connectDispatcher(project, topic)
  const asked = await recordCommand(dispatcher, { kind: 'webhook.test', target: endpointId, details: {} }, () =>
    dispatcher.any.testEndpoint({ ...dispatcher.place, endpointId }),
  )
  const begun = await answerAbout(dispatcher, endpointId, asked)
  if (begun === TOO_MANY_TESTS)
    throw new CliError(`${endpointId} has ${MAX_PENDING_TESTS} tests that are not attempted yet: wait until one is.`)
  if (begun === TOO_MANY_TESTS_A_DAY) throw new CliError(`${endpointId} has had ${MAX_TESTS_A_DAY} tests in 24 hours.`)
  const { deliveryId } = begun
  const giveUpAt = performance.now() + ATTEMPTED_WITHIN_MS
  for (;;) {
    const delivery = await readDelivery(dispatcher, endpointId, deliveryId)
    if (delivery.status !== 'pending') return report(endpointId, delivery, json)
    if (performance.now() > giveUpAt) {
      const name = projectName(dispatcher.place)
      throw new CliError(
        `The test is not attempted yet. See nextvisit webhooks deliveries ${endpointId} ${deliveryId} --project ${name}.`,
      )
    }
    await sleep(ASK_EVERY_MS)
  }
}

function report(endpointId: string, delivery: WebhookDeliveryDetail, json: true | undefined): void {
  const attempt = delivery.attemptLog.at(-1)
  const words = attempt ? attemptInWords(attempt) : 'no attempt'
  if (json) print(JSON.stringify(delivery, null, 2))
  else if (delivery.status === 'delivered') print(`${endpointId} has accepted the test: ${words}.`)
  if (delivery.status === 'delivered') return
  const why = attempt?.error === undefined ? '' : ` ${escapeInvisible(attempt.error)}`
  const answered = attempt?.response ? `\nIts response: ${escapeInvisible(attempt.response)}` : ''
  throw new CliError(`${endpointId} has not accepted the test: ${words}.${why}${answered}`)
}

/** Enables a webhook that the dispatcher has disabled. */
export async function enableWebhook(endpointId: string, project: ProjectName, topic: string): Promise<void> {
  const dispatcher = await connectDispatcher(project, topic)
  const asked = await recordCommand(dispatcher, { kind: 'webhook.enable', target: endpointId, details: {} }, () =>
    dispatcher.any.enableEndpoint({ ...dispatcher.place, endpointId }),
  )
  if ((await answerAbout(dispatcher, endpointId, asked)) === DISABLED_IN_FILE) {
    throw new CliError(`${endpointId} is ${DISABLED_IN_FILE}: set enabled: true there, and apply it.`)
  }
  print(`${endpointId} is enabled. It continues where it stopped.`)
}
