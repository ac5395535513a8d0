/** Options of a spec's publisher: a broker on a busy machine may answer later than the 1.5 s that a gateway waits. */
export const PATIENT_REQUESTS = { requestTimeoutMs: 30_000 } as const
