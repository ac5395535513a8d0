import { DEVICE_FIELD_VALUES, IdentifyUserAnswer, IdentifyUserBody, VisitAnswer } from '@nextvisit/contracts'
import { BODY_RULES } from '@nextvisit/domain'
import { REFUSALS } from '../http/refusals.ts'
import { type DocumentedRefusals, json, type Operation, refusalsOf } from './operation.ts'

const userId = 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44'

/** Of either kind of identify: its body's own rules, in their order, then policy. */
const IDENTIFY_REFUSALS: DocumentedRefusals = {
  ...refusalsOf({
    userName: BODY_RULES.noUserName,
    longUserName: BODY_RULES.longUserName,
    userNameType: { ...BODY_RULES.userName, when: 'A userName that is no string' },
    attributes: BODY_RULES.attributes,
    operator: BODY_RULES.operator('userAttributes.$push'),
    operands: BODY_RULES.operands('userAttributes.$set'),
    traitKey: BODY_RULES.traitKey('userAttributes.$set.'),
    traitString: BODY_RULES.traitString('userAttributes.$set.plan'),
    traitValue: BODY_RULES.traitValue('userAttributes.$set.plan'),
    traitArray: BODY_RULES.traitArray('userAttributes.$set.plan'),
    traitItem: BODY_RULES.traitItem('userAttributes.$set.plan'),
    increment: BODY_RULES.finiteNumber('userAttributes.$increment.logins'),
    unset: BODY_RULES.unset('userAttributes.$unset'),
    unsetItem: BODY_RULES.unsetItem('userAttributes.$unset'),
    deviceInfo: BODY_RULES.deviceInfo,
    deviceString: BODY_RULES.deviceString('$deviceInfo.$app'),
    country: BODY_RULES.country,
    timezone: BODY_RULES.timezone('$deviceInfo.$timezone'),
    deviceValue: BODY_RULES.deviceValue('$deviceInfo.$deviceOs', DEVICE_FIELD_VALUES.$deviceOs ?? []),
    signatureType: BODY_RULES.signatureType,
    counted: BODY_RULES.counted('userAttributes.$increment.$app'),
  }),
  mau: REFUSALS.mau,
}

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
  body: json(IdentifyUserBody, {
    traits: {
      summary: 'Traits and a country',
      value: {
        userName: 'ada@example.com',
        userAttributes: { $set: { plan: 'pro' }, $setOnce: { source: 'ad' }, $increment: { logins: 1 } },
        $deviceInfo: { $countryCode: 'DE' },
      },
    },
    bare: { summary: 'Only who', value: { userName: 'ada@example.com' } },
  }),
  answer: {
    status: 200,
    description: 'The user exists, and the operations are in the log.',
    content: json(IdentifyUserAnswer, { ok: { summary: 'Identified', value: { message: 'ok', userId } } }),
  },
  refusals: IDENTIFY_REFUSALS,
}

const NOTHING_TO_SHOW = { message: 'ok', userId, pingAgainIn: 60, pingOnNextPageVisit: false, onPageDelay: 0 }

export const visit: Operation = {
  tag: 'SDK',
  summary: 'Visit',
  description: `What the SDK sends when a user opens a page or an app: identifies the user and brings back the form to show, if one waits.

${TRAIT_RULES}

A trait that is new is registered where the project lets clients create traits, else it is stripped. Where the project requires it, \`userSignature\` proves that your server knows this user: the hex HMAC-SHA256 of userName under the project's signing secret.

Without a \`$countryCode\` the country is that of the caller's address, where it is known and the project keeps it.`,
  body: json(IdentifyUserBody, {
    page: {
      summary: 'A page',
      value: {
        userName: 'ada@example.com',
        $deviceInfo: { $deviceType: 'web', $deviceSize: 'desktop', $timezone: 'Europe/Berlin' },
      },
    },
  }),
  answer: {
    status: 200,
    description: 'What to show, and when to ask again.',
    content: json(VisitAnswer, {
      form: { summary: 'A form waited', value: { ...NOTHING_TO_SHOW, nextFeedbackId: 'nps-after-checkout' } },
      none: { summary: 'None did', value: NOTHING_TO_SHOW },
    }),
  },
  refusals: { ...IDENTIFY_REFUSALS, signature: REFUSALS.signature },
}
