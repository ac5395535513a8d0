import { IDENTIFY_REFUSALS } from './identify-refusals.ts'
import type { Operation } from './operation.ts'
import { refusal } from './refusals.ts'

const USER_ID = 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44'

const TRAIT_RULES = `The operations of one request apply in this order: \`$set\`, \`$setOnce\`, \`$increment\`, \`$decrement\`, \`$unset\`.

- A trait key has 1 to 100 characters; a value is a string of at most 500, a finite number, a boolean, null, or an array of at most 100 of those.
- \`$increment\` of a trait that is not set starts at 0; of one that is no number it is skipped.
- A trait that is marked disabled is dropped. Known device and personal fields pass as far as the project's \`allowedFields\` name them.
- New traits over the plan's cap on unique traits are stripped; the rest of the request is done.`

export const identifyUser: Operation = {
  tag: 'Users',
  summary: 'Identify a user',
  description: `Creates or updates a user and applies operations to their traits. The user exists when the answer is there: a tracked event may follow at once. Traits are written soon after the answer.

${TRAIT_RULES}

A trait that is new is registered, also where clients may not create traits. The country comes from \`$countryCode\` alone, never from the caller's address.

A user counts as active once a project and month. Past the plan's monthly active users, those not yet counted are refused with 400.`,
  body: {
    schema: 'IdentifyUserBody',
    examples: {
      traits: {
        when: 'Traits and a country',
        value: {
          userName: 'ada@example.com',
          userAttributes: { $set: { plan: 'pro' }, $setOnce: { source: 'ad' }, $increment: { logins: 1 } },
          $deviceInfo: { $countryCode: 'DE' },
        },
      },
      bare: { when: 'Only who', value: { userName: 'ada@example.com' } },
    },
  },
  answers: [
    {
      status: 200,
      description: 'The user exists, and the operations are in the log.',
      schema: 'IdentifyUserAnswer',
      examples: { ok: { when: 'Identified', value: { message: 'ok', userId: USER_ID } } },
    },
  ],
  refusals: IDENTIFY_REFUSALS,
}

export const visit: Operation = {
  tag: 'SDK',
  summary: 'Visit',
  description: `What the SDK sends when a user opens a page or an app: identifies the user and brings back the form to show, if one waits.

${TRAIT_RULES}

A trait that is new is registered where the project lets clients create traits, else it is stripped. Where the project requires it, \`userSignature\` proves that your server knows this user: the hex HMAC-SHA256 of userName under the project's signing secret.

Without a \`$countryCode\` the country is that of the caller's address, where it is known and the project keeps it.`,
  body: {
    schema: 'IdentifyUserBody',
    examples: {
      page: {
        when: 'A page',
        value: {
          userName: 'ada@example.com',
          $deviceInfo: { $deviceType: 'web', $deviceSize: 'desktop', $timezone: 'Europe/Berlin' },
        },
      },
    },
  },
  answers: [
    {
      status: 200,
      description: 'What to show, and when to ask again.',
      schema: 'VisitAnswer',
      examples: {
        form: {
          when: 'A form waited',
          value: {
            message: 'ok',
            userId: USER_ID,
            pingAgainIn: 60,
            pingOnNextPageVisit: false,
            onPageDelay: 0,
            nextFeedbackId: 'nps-after-checkout',
          },
        },
        none: {
          when: 'None did',
          value: { message: 'ok', userId: USER_ID, pingAgainIn: 60, pingOnNextPageVisit: false, onPageDelay: 0 },
        },
      },
    },
  ],
  refusals: [
    ...IDENTIFY_REFUSALS,
    refusal(
      401,
      'signature',
      'A signature that is required, and missing or wrong',
      'userSignature must be the HMAC-SHA256 of userName, in hex',
    ),
  ],
}
