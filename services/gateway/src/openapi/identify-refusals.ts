import type { DocumentedRefusal } from './operation.ts'
import { refusal } from './refusals.ts'

/** Of either kind of identify: its body's own rules, in their order, then policy. */
export const IDENTIFY_REFUSALS: readonly DocumentedRefusal[] = [
  refusal(401, 'userName', 'A userName that is missing, empty or only white space', 'userName not found'),
  refusal(400, 'longUserName', 'More than 255 characters', 'userName must be at most 255 characters long'),
  refusal(400, 'userNameType', 'A userName that is no string', 'userName must be a string that is not empty'),
  refusal(400, 'attributes', 'userAttributes of another type', 'userAttributes must be an object'),
  refusal(
    400,
    'operator',
    'An operator that does not exist',
    'userAttributes.$push is not an operator: use $set, $setOnce, $increment, $decrement, $unset',
  ),
  refusal(400, 'operands', 'Operands of another type', 'userAttributes.$set must be an object of trait keys'),
  refusal(
    400,
    'traitKey',
    'A trait key that is empty, or longer than 100 characters',
    'userAttributes.$set. must be a trait key of 1 to 100 characters',
  ),
  refusal(
    400,
    'traitString',
    'A string of more than 500 characters',
    'userAttributes.$set.plan must be at most 500 characters long',
  ),
  refusal(
    400,
    'traitValue',
    'A trait that is an object',
    'userAttributes.$set.plan must be a string, a finite number, a boolean, null, or an array of those',
  ),
  refusal(
    400,
    'traitArray',
    'An array of more than 100',
    'userAttributes.$set.plan must be an array of at most 100 values',
  ),
  refusal(
    400,
    'traitItem',
    'An array in an array',
    'userAttributes.$set.plan must be an array of strings, numbers, booleans and nulls',
  ),
  refusal(
    400,
    'increment',
    'An increment that is no number',
    'userAttributes.$increment.logins must be a finite number',
  ),
  refusal(400, 'unset', 'An `$unset` that is no array', 'userAttributes.$unset must be an array of trait keys'),
  refusal(400, 'unsetItem', 'An `$unset` of other than strings', 'userAttributes.$unset must hold only strings'),
  refusal(400, 'deviceInfo', '$deviceInfo of another type', '$deviceInfo must be an object'),
  refusal(400, 'deviceString', 'A device field that is no string', '$deviceInfo.$app must be a string'),
  refusal(400, 'country', 'A country that ISO 3166-1 has not assigned', 'invalid country passed'),
  refusal(
    400,
    'timezone',
    'A time zone that IANA does not list',
    '$deviceInfo.$timezone must be an IANA time zone such as Europe/Berlin',
  ),
  refusal(
    400,
    'deviceValue',
    'A device field outside its list',
    '$deviceInfo.$deviceOs must be one of iOS, Android, Windows',
  ),
  refusal(400, 'signatureType', 'A userSignature that is no string', 'userSignature must be a string of hex digits'),
  refusal(
    400,
    'counted',
    'A device field to count with',
    'userAttributes.$increment.$app must not be counted: it is a device field',
  ),
  refusal(400, 'mau', "The project's active users of the month", 'Monthly active users limit reached for your plan'),
]
