import type { OrganizationConfig, ProjectConfig } from '@nextvisit/contracts'
import { hashApiKey, userIdOf } from '@nextvisit/domain'

/** Where the demo's gateway is, what it was configured with, and the keys to ask it with. */
export interface DemoStack {
  readonly gatewayUrl: string
  readonly organizations: readonly OrganizationConfig[]
  readonly keys: { readonly admin: string; readonly sdk: string }
}

/** One thing to paste, and what is answered. */
export interface DemoCommand {
  readonly title: string
  readonly command: string
  /** JSON; `…` stands for what cannot be known before. */
  readonly answer: string
}

const EVENT = 'Checkout Completed'
const FORM = 'nps-after-checkout'

/** Identify, track, visit: how the demo's form gets to a user. None where the workspace does not take the demo's keys. */
function demoCommands(stack: DemoStack, userName: string): readonly DemoCommand[] {
  const place = placeOf(stack)
  if (place === undefined) return []
  const userId = userIdOf(place.organization, place.project.id, userName)
  const { pingAgainInSeconds, onPageDelaySeconds } = place.project.sdk
  const post = (path: string, key: string, body: object): string =>
    [
      `curl -sS ${stack.gatewayUrl}${path}`,
      `  -H 'X-Api-Key: ${key}' -H 'Content-Type: application/json'`,
      `  -d '${JSON.stringify(body)}'`,
    ].join(' \\\n')
  return [
    {
      title: 'Your server says who a user is:',
      command: post('/v2/admin/identify-user', stack.keys.admin, {
        userName,
        userAttributes: { $set: { plan: 'pro' } },
      }),
      answer: JSON.stringify({ message: 'ok', userId }),
    },
    {
      title: 'It says what happened to them (newEvent is true the first time only):',
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
      title: 'At their next visit the SDK gets the form, once:',
      command: post('/v2/sdk/identify-user', stack.keys.sdk, { userName }),
      answer: JSON.stringify({
        message: 'ok',
        userId,
        pingAgainIn: pingAgainInSeconds,
        pingOnNextPageVisit: false,
        onPageDelay: onPageDelaySeconds,
        nextFeedbackId: FORM,
      }),
    },
  ]
}

/**
 * A user of its own each time: to them, a form that is shown once has not been shown yet. `isLocal`: the stack is this
 * checkout's, so that `nextvisit` finds it.
 */
export function printDemo(stack: DemoStack, { isLocal = false }: { readonly isLocal?: boolean } = {}): void {
  const userName = `ada-${Date.now().toString(36)}`
  const commands = demoCommands(stack, userName)
  if (commands.length === 0) return
  console.log(`Demo keys: ${stack.keys.admin} (admin), ${stack.keys.sdk} (sdk)\n`)
  for (const { title, command, answer } of commands) console.log(`${title}\n\n${command}\n\n→ ${answer}\n`)
  if (isLocal) console.log(`Why they got it, gate by gate:\n\n${whyCommandLine(stack, userName)}\n`)
}

/** What an operator asks afterwards, in this checkout. */
function whyCommandLine(stack: DemoStack, userName: string): string {
  const project = placeOf(stack)?.project.id
  return `npx -y pnpm --silent nextvisit why --project ${project} --user ${userName} --form ${FORM}`
}

/** The project whose keys are the demo's and that has the demo's form. */
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
