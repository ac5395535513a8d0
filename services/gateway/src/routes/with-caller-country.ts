import type { IdentifyBody } from '@nextvisit/domain'
import type { CountryOf } from '../country-of.ts'
import type { CheckedRequest } from '../route.ts'

const COUNTRY = '$countryCode'

/**
 * With the country of the caller's address, where the body names none and the project keeps it (decisions.md, Beyond the
 * document). The address itself goes no further.
 */
export function withCallerCountry(
  body: IdentifyBody,
  { project, callerAddress }: Pick<CheckedRequest, 'project' | 'callerAddress'>,
  countryOf: CountryOf,
): IdentifyBody {
  if (!project.allowedFields.has(COUNTRY) || project.disabledTraits.has(COUNTRY) || namesCountry(body)) return body
  const country = countryOf(callerAddress())
  return country === undefined ? body : { ...body, device: { ...body.device, [COUNTRY]: country } }
}

/** In `$deviceInfo` or among the traits. `null` is no name. */
function namesCountry({ device, changes }: IdentifyBody): boolean {
  const isNamed = changes.some((change) => change.slug === COUNTRY && 'value' in change && change.value !== null)
  return device[COUNTRY] !== undefined || isNamed
}
