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
  /** The answer as JSON; `…` replaces unpredictable values and the members of long ones. */
  readonly answer: string
}

/** Stands for a value that the demo cannot know: for any, and for an object. */
const [ANY, OBJECT] = ['…', '{…}']

const EVENT = 'Checkout Completed'
const FORM = 'nps-after-checkout'

/**
 * Returns the four requests of README.md, which bring the demo's form to a user, and an answer to it. Empty if the workspace lacks
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
      title: '1. Identify a user.',
      command: post('/v2/admin/identify-user', stack.keys.admin, {
        userName,
        userAttributes: { $set: { plan: 'pro' } },
      }),
      answer: JSON.stringify({ message: 'ok', userId }),
    },
    {
      title: '2. Track an event. It queues a form. (newEvent is true only the first time.)',
      command: post('/v2/admin/track-event', stack.keys.admin, { userName, eventName: EVENT }),
      answer: JSON.stringify({
        requestId: ANY,
        occurredAt: ANY,
        newEvent: true,
        triggersEvaluated: true,
        formsQueued: 1,
        message: "Event recorded. 1 form queued for the user's next visit.",
      }),
    },
    {
      title: '3. The user visits, and gets the form.',
      command: post('/v2/sdk/identify-user', stack.keys.sdk, { userName }),
      answer: JSON.stringify({
        message: 'ok',
        userId,
        pingAgainIn: pingAgainInSeconds,
        pingOnNextPageVisit: false,
        onPageDelay: onPageDelaySeconds,
        nextFeedbackId: FORM,
        nextFeedback: { offerId: ANY, formId: FORM, revision: ANY, language: 'en', content: OBJECT },
      }).replaceAll(/"(…|{…})"/g, '$1'),
    },
    {
      title: '4. The user answers it. Take OFFER_ID and REVISION from the answer above.',
      command: post('/v2/sdk/answers', stack.keys.sdk, {
        userName,
        offerId: 'OFFER_ID',
        formId: FORM,
        revision: 'REVISION',
        answers: { score: 9 },
        status: 'finished',
      }).replace('"REVISION"', 'REVISION'),
      answer: JSON.stringify({
        requestId: ANY,
        status: 'finished',
        message: 'Answers recorded. The form is finished.',
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
