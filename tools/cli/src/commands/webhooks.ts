import { DeliveryStatus, TOPICS, Uuid, WEBHOOK_EVENTS, WebhookEvent } from '@nextvisit/contracts'
import { Command, InvalidArgumentError, Option } from 'commander'
import { PROJECT_HELP, type ProjectName } from '../find-project.ts'
import { parseInstant, parseProject } from '../options.ts'
import { createSecret } from '../webhooks/create-secret.ts'
import { listen, type ListenFlags } from '../webhooks/listen.ts'
import { type ListFlags, listWebhooks } from '../webhooks/list-webhooks.ts'
import { type ReplayFlags, replayWebhook } from '../webhooks/replay-webhook.ts'
import { retryDeliveries, type RetryFlags } from '../webhooks/retry-deliveries.ts'
import { type DeliveriesFlags, showDeliveries } from '../webhooks/show-deliveries.ts'
import { enableWebhook, type TestFlags, testWebhook } from '../webhooks/test-webhook.ts'

const ENDS = 'Reads WEBHOOK_DISPATCHER_URLS and INTERNAL_TOKEN, and KAFKA_BROKERS for the workspace.'

/** Creates the command. Specs pass their own topic of the catalog. */
export function createCommand(topic: string = TOPICS.catalog): Command {
  return new Command('webhooks')
    .description('Show, test, replay and repair the webhooks of a project; hear its deliveries without an endpoint.')
    .addHelpText(
      'after',
      `
Webhooks are in the workspace file (docs/guides/webhooks.md). The dispatcher sends them, in the order of each user.

Example:
  nextvisit webhooks listen --project demo/shop
  nextvisit webhooks list --project demo/shop`,
    )
    .addCommand(listCommand(topic))
    .addCommand(deliveriesCommand(topic))
    .addCommand(replayCommand(topic))
    .addCommand(retryCommand(topic))
    .addCommand(testCommand(topic))
    .addCommand(enableCommand(topic))
    .addCommand(listenCommand(topic))
    .addCommand(createSecretCommand())
}

function listCommand(topic: string): Command {
  return ofProject(new Command('list'))
    .description('Show the webhooks of a project, with state, pending and failed deliveries and running replays.')
    .option('--json', 'for scripts: the answer of GET /v2/admin/webhooks')
    .addHelpText(
      'after',
      `
live: it follows the log. catching-up: it reads what the log has got meanwhile. disabled: by the workspace file, a 410, or five days of
failures; it keeps its place in the log. ${ENDS}
Exits with 0 also if webhooks fail, 1 if the dispatcher does not answer, 2 if the arguments are invalid.

Example:
  nextvisit webhooks list --project demo/shop --json | jq '.webhooks[] | {id, state, pending, failed}'`,
    )
    .action((flags: ListFlags) => listWebhooks(flags, topic))
}

function deliveriesCommand(topic: string): Command {
  return ofWebhook(new Command('deliveries'))
    .description('Show the latest deliveries of a webhook, or one with its body and all attempts.')
    .argument('[delivery]', 'id of one delivery, or the webhook-id of a request', parseUuid)
    .addOption(new Option('--status <status>', 'only deliveries with this status').choices(DeliveryStatus.options))
    .option('--user <userName>', 'only of this user, exactly as given to identify-user')
    .option('--user-id <userId>', 'instead of --user', parseUuid)
    .option('--limit <count>', 'number of latest deliveries', parseLimit, 20)
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Newest first. A pending delivery without a next attempt waits for an earlier one of the same user. A delivery is kept for 30 days after its
end, with at most 4 KB of each response. Its body contains personal data. ${ENDS}
Exits with 0 with or without deliveries, 1 if there is no such delivery or the dispatcher does not answer, 2 if the arguments are invalid.

Example:
  nextvisit webhooks deliveries crm --project demo/shop --status failed
  nextvisit webhooks deliveries crm 0192f3a0-0000-5000-8000-000000000001 --project demo/shop`,
    )
    .action((webhook: string, delivery: string | undefined, flags: DeliveriesFlags) =>
      showDeliveries(webhook, delivery, flags, topic),
    )
}

function replayCommand(topic: string): Command {
  return ofWebhook(new Command('replay'))
    .description('Send the records of a range of time to a webhook again, in the order of the log.')
    .requiredOption('--from <instant>', 'the first instant, a day or an instant', parseInstant)
    .option('--to <instant>', 'the end, exclusive; default: now', parseInstant)
    .option('--events <events>', 'comma-separated; default: the events of the webhook', parseEvents)
    .option('--wait', 'show the progress until it is complete')
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Each record has the webhook-id that it had before, so that receivers can skip it. A replay is ordered within itself, and delays no new
delivery. A disabled webhook keeps it waiting. It is complete when no delivery of it is pending. ${ENDS}
Exits with 0 if it has begun (--wait: if it is complete, and after Ctrl-C), 1 if deliveries of it have failed or the dispatcher does not
answer, 2 if the arguments are invalid.

Example:
  nextvisit webhooks replay crm --project demo/shop --from 2026-11-27 --to 2026-11-28 --wait
  nextvisit webhooks replay crm --project demo/shop --from 2026-11-27T09:00:00Z --events form.answered`,
    )
    .action((webhook: string, flags: ReplayFlags) => replayWebhook(webhook, flags, topic))
}

function retryCommand(topic: string): Command {
  return ofWebhook(new Command('retry'))
    .description('Send one delivery again, or the failed ones of a range of time.')
    .argument(
      '[delivery]',
      'id, or webhook-id, of one delivery: also a delivered one, and a pending one at once',
      parseUuid,
    )
    .option('--from <instant>', 'failed deliveries of records from this day or instant on', parseInstant)
    .option('--to <instant>', 'the end, exclusive; default: now', parseInstant)
    .addHelpText(
      'after',
      `
Each gets all its attempts again. ${ENDS}
Exits with 0 if they are sent again, also if none has failed; 1 if there is no such delivery or the dispatcher does not answer, 2 if the
arguments are invalid.

Example:
  nextvisit webhooks retry crm --project demo/shop --from 2026-11-27
  nextvisit webhooks retry crm 0192f3a0-0000-5000-8000-000000000001 --project demo/shop`,
    )
    .action((webhook: string, delivery: string | undefined, flags: RetryFlags) =>
      retryDeliveries(webhook, delivery, flags, topic),
    )
}

function testCommand(topic: string): Command {
  return ofWebhook(new Command('test'))
    .description('Send one webhook.test to a webhook, also to a disabled one, and show the response.')
    .option('--json', 'for scripts: the delivery with its attempt')
    .addHelpText(
      'after',
      `
It is attempted once. ${ENDS}
Exits with 0 if the webhook has accepted it (2xx), 1 if not or if the dispatcher does not answer, 2 if the arguments are invalid.

Example:
  nextvisit webhooks test crm --project demo/shop`,
    )
    .action((webhook: string, flags: TestFlags) => testWebhook(webhook, flags, topic))
}

function enableCommand(topic: string): Command {
  return ofWebhook(new Command('enable'))
    .description('Enable a webhook that a 410 or five days of failures have disabled.')
    .addHelpText(
      'after',
      `
It continues where it stopped: nothing is lost. No effect on an enabled one. ${ENDS}
Exits with 0 if it is enabled, 1 if the workspace file disables it or the dispatcher does not answer, 2 if the arguments are invalid.

Example:
  nextvisit webhooks enable crm --project demo/shop`,
    )
    .action((webhook: string, { project }: { readonly project: ProjectName }) => enableWebhook(webhook, project, topic))
}

function listenCommand(topic: string): Command {
  return ofProject(new Command('listen'))
    .description(
      'Print the deliveries of a project until Ctrl-C, each with its signature verified. Needs no endpoint and no tunnel.',
    )
    .option('--events <events>', 'comma-separated; default: all', parseEvents)
    .option('--json', 'for scripts: one object per line, with the headers and the exact body')
    .addHelpText(
      'after',
      `
For development. The deliveries are those of an endpoint without include; they are signed with a secret of this session, which is printed. They go
nowhere else, and change nothing. The output contains personal data. ${ENDS}
Exits with 0 after Ctrl-C and if the reader closed the pipe, 1 if a signature was not valid or the dispatcher does not answer, 2 if the
arguments are invalid.

Example:
  nextvisit webhooks listen --project demo/shop
  nextvisit webhooks listen --project demo/shop --events form.answered --json | jq '.body | fromjson'`,
    )
    .action((flags: ListenFlags) => listen(flags, topic))
}

function createSecretCommand(): Command {
  return new Command('create-secret')
    .description('Create a secret for a webhook, and print it once. Changes nothing.')
    .addHelpText(
      'after',
      `
The secret is whsec_ and base64 of 32 random bytes. Apply it to replace the secret of a webhook: both sign for 24 h.
Exits with 0 if done, 2 if the arguments are invalid.

Example:
  nextvisit webhooks create-secret`,
    )
    .action(createSecret)
}

function ofProject(command: Command): Command {
  return command.requiredOption('--project <project>', PROJECT_HELP, parseProject)
}

function ofWebhook(command: Command): Command {
  return ofProject(command).argument('<webhook>', 'its id in the workspace file')
}

function parseUuid(text: string): string {
  const { data } = Uuid.safeParse(text)
  if (data !== undefined) return data.toLowerCase()
  throw new InvalidArgumentError('It must be a UUID.')
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 1 to 9999.')
}

function parseEvents(text: string): readonly WebhookEvent[] {
  return text.split(',').map((name) => {
    const { data } = WebhookEvent.safeParse(name)
    if (data === undefined) throw new InvalidArgumentError(`${name} is not among ${WEBHOOK_EVENTS.join(', ')}.`)
    return data
  })
}
