import type { OrganizationConfig, ProjectConfig } from '@nextvisit/contracts'
import { hashApiKey, userIdOf } from '@nextvisit/domain'

/** The demo's gateway, its configuration and its keys. */
interface DemoStack {
  readonly gatewayUrl: string
  readonly organizations: readonly OrganizationConfig[]
  readonly keys: { readonly admin: string; readonly sdk: string }
}

/** A command for the terminal, and its answer. */
interface DemoCommand {
  readonly title: string
  readonly command: string
  /** The answer as JSON; `…` replaces unpredictable values. */
  readonly answer: string
}

const EVENT = 'Checkout Completed'
const FORM = 'nps-after-checkout'

/**
 * Returns commands to identify, track and visit, which bring the demo's form to a user. Empty if the workspace lacks
 * the demo's keys.
 */
function demoCommands(stack: DemoStack, userName: string): readonly DemoCommand[] {
  const place = placeOf(stack)
  if (place === undefined) return []
  const userId = userIdOf(place.organization, place.project.id, userName)
  const { pingAgainInSeconds, onPageDelaySeconds } = place.project.sdk
  const post = (path: string, key: string, body: object): string =>
    [
      `curl -sS -w '\\n' ${stack.gatewayUrl}${path}`,
      `  -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json'`,
      `  -d '${JSON.stringify(body)}'`,
    ].join(' \\\n')
  return [
    {
      title: 'Your server identifies a user:',
      command: post('/v2/admin/identify-user', stack.keys.admin, {
        userName,
        userAttributes: { $set: { plan: 'pro' } },
      }),
      answer: JSON.stringify({ message: 'ok', userId }),
    },
    {
      title: 'It tracks an event of the user (newEvent is true only the first time):',
      command: post('/v2/admin/track-event', stack.keys.admin, { userName, eventName: EVENT }),
      answer: JSON.stringify({
        requestId: '…',
        occurredAt: '…',
        newEvent: true,
        triggersEvaluated: true,
        formsQueued: 1,
        message: "Event recorded. 1 form queued for the user's next visit.",
      }),
    },
    {
      title: 'At the next visit of the user, the SDK gets the form, once:',
      command: post('/v2/sdk/identify-user', stack.keys.sdk, { userName }),
      answer: JSON.stringify({
        message: 'ok',
        userId,
        pingAgainIn: pingAgainInSeconds,
        pingOnNextPageVisit: false,
        onPageDelay: onPageDelaySeconds,
        nextFeedbackId: FORM,
        nextFeedback: '…',
      }),
    },
  ]
}

/**
 * Prints the demo for a new user, to whom the form was never shown. `localPrefix`, for a stack that runs in this checkout,
 * precedes a command so that `nextvisit` finds the stack, such as `NEXTVISIT_DATA=/data `; it may be empty.
 */
export function printDemo(stack: DemoStack, { localPrefix }: { readonly localPrefix?: string } = {}): void {
  const userName = `ada-${Date.now().toString(36)}`
  const commands = demoCommands(stack, userName)
  if (commands.length === 0) return
  console.log(`Demo keys: ${stack.keys.admin} (admin), ${stack.keys.sdk} (sdk)\n`)
  for (const { title, command, answer } of commands) console.log(`${title}\n\n${command}\n\n→ ${answer}\n`)
  if (localPrefix === undefined) return
  console.log(`Explain why the user got it, gate by gate:\n\n${localPrefix}${whyCommandLine(stack, userName)}\n`)
}

/** Returns the command that explains why the user got the form, in this checkout. */
function whyCommandLine(stack: DemoStack, userName: string): string {
  const project = placeOf(stack)?.project.id
  return `npx -y pnpm --silent nextvisit why --project ${project} --user ${userName} --form ${FORM}`
}

/** Returns the project with the demo's keys and the demo's form. */
function placeOf(stack: DemoStack): { readonly organization: string; readonly project: ProjectConfig } | undefined {
  const sha256 = hashApiKey(stack.keys.admin)
  for (const organization of stack.organizations) {
    const project = organization.projects.find(
      ({ keys, forms }) => keys.some((key) => key.sha256 === sha256) && forms.some((form) => form.id === FORM),
    )
    if (project !== undefined) return { organization: organization.id, project }
  }
  return undefined
}
