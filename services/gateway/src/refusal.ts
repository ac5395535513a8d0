import * as refusals from './http/refusals.ts'

// Until each handler takes its refusal from the catalogue (http/refusals.ts).
export { type Refusal, refuseBody } from './http/refusals.ts'

export function refuse(status: number, message: string, headers?: Readonly<Record<string, string>>): refusals.Refusal {
  return refusals.refuse({ status, message, ...(headers && { headers }) })
}

export function busy(message: string): refusals.Refusal {
  return refusals.refuse({ status: 503, message })
}
