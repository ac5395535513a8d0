import { toJson } from '@nextvisit/contracts/to-json'

interface VisitOptions {
  readonly traits?: object | undefined
  readonly deviceInfo?: object | undefined
}

/**
 * Serializes the body of a visit. Throws if it is not JSON, except for device facts: the browser reports them, so an invalid one
 * must not prevent the visit. The gateway drops and counts it (decisions.md, Identify).
 */
export function writeVisitBody(user: object, { traits, deviceInfo }: VisitOptions): string {
  // Names members as the options do.
  toJson({ traits })
  const device = JSON.stringify({ $deviceLanguage: navigator.language, ...deviceInfo }, (name, value: unknown) =>
    name && typeof (value ?? '') !== 'string' ? {} : value,
  )
  // The page that repeats this visit may have other traits (decisions.md, Retries).
  return `{"$deviceInfo":${device},${toJson({ ...user, userAttributes: { $set: traits }, repeatMayDiffer: true }).slice(1)}`
}
