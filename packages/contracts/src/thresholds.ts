/**
 * Thresholds that the console's findings, the alert rules and the dashboards share. Keep this file free of imports: pages of the
 * console import it.
 */

/** Lag of a consumer, in seconds. A short lag is normal. */
export const LATE_AFTER_S = 10
/** Lag of a consumer from which on an operator is paged. */
export const VERY_LATE_AFTER_S = 60
/** Time for which every attempt to fold records fails, or every tick. */
export const STALLED_AFTER_S = 60
/** Age of the oldest record of an outbox. */
export const OUTBOX_LATE_AFTER_S = 30
/** Age of a process's catalog, or of its erasures. It is renewed every few seconds. */
export const CATALOG_OLD_AFTER_S = 30
/** Share of 5xx answers. */
export const FAILED_SHARE = 0.01
/** Time within which 99 % of the requests are answered. */
export const SLOW_AFTER_S = 1

/** Failures of less time may end with the next attempt: a restart of a receiver takes less. */
export const WEBHOOK_FAILS_AFTER_MS = 10 * 60_000
/** The first three retries of a delivery are over by then. */
export const WEBHOOK_LAGS_AFTER_MS = 60 * 60_000
