import { BODY_LIMITS, WEBHOOK_EVENTS } from '@nextvisit/contracts'
import { TRAIT_OPERATOR_NAMES, TRAIT_OPERATORS } from '../traits/trait-operators.ts'
import { nameRules } from './rejection.ts'

const operators = TRAIT_OPERATOR_NAMES.map((name) => `$${name}`).join(', ')
/** Returns the operators with this property, as a description names them: `$increment` or `$decrement`. */
const operatorsWhere = (isMet: (operator: (typeof TRAIT_OPERATORS)['set']) => boolean) =>
  TRAIT_OPERATOR_NAMES.filter((name) => isMet(TRAIT_OPERATORS[name]))
    .map((name) => `\`$${name}\``)
    .join(' or ')
const listOperators = operatorsWhere(({ operand }) => operand === 'none')
const countingOperators = operatorsWhere(({ deviceField }) => deviceField === 'refused')

const { userNameLength, eventNameLength, traitKeyLength, traitOperations, traitStringLength, traitItems, depth } =
  BODY_LIMITS
const { batchItems, erasedUserNames, propertiesBytes, propertiesDepth, propertyKeyLength, propertyStringLength } =
  BODY_LIMITS

const INSTANT_OR_DAY =
  'an ISO 8601 date and time with a time zone, such as 2026-01-31T09:30:00Z, or a day, such as 2026-01-31, which begins at midnight UTC'

/** The rules for the bodies of public routes, by name. A rule for several members is a function of the member's name. */
export const BODY_RULES = nameRules({
  // The body as a whole (decisions.md, Order of checks: JSON).
  notJson: (body: string) => ({ message: `${body} must be JSON`, when: 'Invalid JSON' }),
  notAnObject: (body: string) => ({ message: `${body} must be a JSON object`, when: 'JSON that is not an object' }),
  notUtf8: (body: string) => ({ message: `${body} must be UTF-8`, when: 'Bytes that are not UTF-8' }),
  tooDeep: (body: string) => ({ message: `${body} must not be nested deeper than ${depth}`, when: 'Too many levels' }),
  notStorable: (body: string) => ({
    message: `${body} must not contain U+0000 or lone surrogates in its strings`,
    when: 'A string that cannot be stored',
  }),

  // A batch (decisions.md, Batch).
  items: {
    message: `items must be an array of at most ${batchItems} items`,
    when: `items of another type, or more than ${batchItems}`,
  },
  item: (member: string) => ({ message: `${member} must be a JSON object`, when: 'An item that is not an object' }),
  itemType: (member: string) => ({ message: `${member} must be identify or track`, when: 'An item of another type' }),

  // An erasure (decisions.md, Erasure).
  userNames: {
    message: `userNames must be an array of 1 to ${erasedUserNames} userNames`,
    when: `userNames of another type, none, or more than ${erasedUserNames}`,
  },
  erasedUserName: (member: string) => ({
    message: `${member} must be a string that is not empty, of at most ${userNameLength} characters`,
    when: 'A userName of another type, an empty or blank one, or a long one',
  }),
  suppress: { message: 'suppress must be true or false', when: 'A suppress of another type' },

  // A range of webhooks (webhooks.md).
  firstInstant: {
    message: `from must be ${INSTANT_OR_DAY}`,
    when: 'A `from` that is missing, or no day and no date and time with a time zone',
  },
  endInstant: {
    message: `to must be ${INSTANT_OR_DAY}; it is exclusive`,
    when: 'A `to` that is no day and no date and time with a time zone',
  },
  instants: {
    message: 'from must be before to, which is exclusive, and before now',
    when: 'A `from` that is not before `to`, or in the future',
  },
  webhookEvents: {
    message: `events must be an array of at least one of ${WEBHOOK_EVENTS.join(', ')}`,
    when: 'events of another type, none, or an unknown one',
  },

  // The user (contract, Track event; decisions.md, Identify).
  noUserName: {
    message: 'userName not found',
    when: 'A userName that is missing, empty or only white space',
    // Contract, Identify user.
    status: 401,
  },
  userName: {
    message: 'userName must be a string that is not empty',
    when: 'A userName that is missing or empty',
  },
  longUserName: {
    message: `userName must be at most ${userNameLength} characters long`,
    when: `More than ${userNameLength} characters`,
  },
  signatureType: {
    message: 'userSignature must be a string of hex digits',
    when: 'A userSignature that is not a string',
  },

  // Traits (decisions.md, Identify).
  attributes: { message: 'userAttributes must be an object', when: 'userAttributes of another type' },
  operations: {
    message: `userAttributes must hold at most ${traitOperations} operations, each trait key under each operator counted`,
    when: `More than ${traitOperations} operations`,
  },
  operator: (member: string) => ({
    message: `${member} is not an operator: use ${operators}`,
    when: 'An unknown operator',
  }),
  operands: (member: string) => ({
    message: `${member} must be an object of trait keys`,
    when: 'Operands of another type',
  }),
  traitKey: (member: string) => ({
    message: `${member} must be a trait key of 1 to ${traitKeyLength} characters`,
    when: `A trait key that is empty, or longer than ${traitKeyLength} characters`,
  }),
  traitString: (member: string) => ({
    message: `${member} must be at most ${traitStringLength} characters long`,
    when: `A string of more than ${traitStringLength} characters`,
  }),
  traitValue: (member: string) => ({
    message: `${member} must be a string, a finite number, a boolean, null, or an array of those`,
    when: 'A trait that is an object',
  }),
  traitArray: (member: string) => ({
    message: `${member} must be an array of at most ${traitItems} values`,
    when: `An array of more than ${traitItems}`,
  }),
  traitItem: (member: string) => ({
    message: `${member} must be an array of strings, numbers, booleans and nulls`,
    when: 'An array in an array',
  }),
  inexactNumber: (member: string) => ({
    message: `${member} must be a finite number that is kept without rounding: send a longer one as text`,
    when: `A whole number beyond ±${Number.MAX_SAFE_INTEGER} that would be rounded, or one that is too large`,
  }),
  finiteNumber: (member: string) => ({
    message: `${member} must be a finite number`,
    when: 'Another value than a finite number',
  }),
  unset: (member: string) => ({
    message: `${member} must be an array of trait keys`,
    when: `An ${listOperators} that is not an array`,
  }),
  unsetItem: (member: string) => ({
    message: `${member} must hold only strings`,
    when: `An item of ${listOperators} that is not a string`,
  }),

  // Device info (contract, Device info).
  deviceInfo: { message: '$deviceInfo must be an object', when: '$deviceInfo of another type' },
  deviceString: (member: string) => ({
    message: `${member} must be a string`,
    when: 'A device field that is not a string',
  }),
  country: { message: 'invalid country passed', when: 'A country that ISO 3166-1 has not assigned' },
  timezone: (member: string) => ({
    message: `${member} must be an IANA time zone such as Europe/Berlin`,
    when: 'A time zone that IANA does not list',
  }),
  deviceValue: (member: string, allowed: readonly string[]) => ({
    message: `${member} must be one of ${allowed.join(', ')}`,
    when: 'A device field outside its list',
  }),
  settableTrait: (member: string) => ({
    message: `${member} must not be changed with a publishable key: this project's sdk.settableTraits does not list it`,
    when: 'A trait that pages of this project may not change',
  }),
  counted: (member: string) => ({
    message: `${member} must not be counted: it is a device field`,
    when: `A device field under ${countingOperators}`,
  }),

  // Events (contract, Track event; decisions.md, Track event).
  eventName: {
    message: `eventName must be a string of 1 to ${eventNameLength} characters`,
    when: 'An eventName that is missing or too long',
  },
  systemEvent: {
    message: 'eventName must not begin with form: (names of system events)',
    when: 'The name of a system event',
  },
  emptySlug: {
    message: 'eventName must hold at least one letter or digit',
    when: 'A name without a letter or digit',
  },
  disabled: {
    message: 'eventName names an event that is disabled in this project',
    when: 'A disabled event',
  },
  occurredAtType: { message: 'occurredAt must be a string', when: 'An occurredAt that is not a string' },
  occurredAt: {
    message: 'occurredAt must be an ISO 8601 date and time with a time zone, such as 2026-01-31T09:30:00Z',
    when: 'Not a date and time with a time zone',
  },
  ahead: { message: 'occurredAt must be no more than 5 minutes in the future', when: 'Too far ahead' },
  past: { message: 'occurredAt must be no more than 365 days in the past', when: 'Too long ago' },
  properties: { message: 'properties must be an object', when: 'properties of another type' },
  propertiesBytes: {
    message: `properties must be at most ${propertiesBytes} bytes long, as JSON without white space`,
    when: `properties of more than ${propertiesBytes} bytes`,
  },
  propertyDepth: (member: string) => ({
    message: `${member} must not be an object or array: properties have at most ${propertiesDepth} levels`,
    when: `properties of more than ${propertiesDepth} levels`,
  }),
  propertyKey: (member: string) => ({
    message: `${member} must have a name of at most ${propertyKeyLength} characters`,
    when: `A name in properties of more than ${propertyKeyLength} characters`,
  }),
  propertyString: (member: string) => ({
    message: `${member} must be at most ${propertyStringLength} characters long`,
    when: `A string in properties of more than ${propertyStringLength} characters`,
  }),

  // Answers to forms (forms.md, Answers). ANSWER_RULES has those of the form's content.
  offerId: { message: 'offerId must be the offerId of a delivered form, a UUID', when: 'An offerId that is no UUID' },
  formId: { message: 'formId must be the id of a form', when: 'A formId that is missing or no id' },
  revision: { message: 'revision must be a whole number of at least 1', when: 'A revision of another type' },
  answers: { message: 'answers must be an object', when: 'answers of another type, or none' },
  answerStatus: { message: 'status must be partial, finished or dismissed', when: 'Another status, or none' },
  language: { message: 'language must be a string', when: 'A language that is not a string' },
})
