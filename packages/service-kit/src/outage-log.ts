/** The part of a logger that an outage needs. */
export interface OutageLogger {
  readonly warn: (fields: object, message: string) => void
  readonly info: (fields: object, message: string) => void
}

/** Logs an outage of something that this process continues without: one line at its beginning, one at its end. */
export interface OutageLog {
  readonly begin: (fields: object) => void
  readonly end: (fields?: object) => void
}

/**
 * Creates the log of one kind of outage. `began` and `ended` are its lines. The last line repeats the first as `ends`, for
 * readers that show only warnings, such as the terminal of `npx -y pnpm start`.
 */
export function createOutageLog(
  logger: OutageLogger,
  { began, ended }: { readonly began: string; readonly ended: string },
): OutageLog {
  let isOut = false
  return {
    begin: (fields) => {
      if (!isOut) logger.warn(fields, began)
      isOut = true
    },
    end: (fields = {}) => {
      if (isOut) logger.info({ ...fields, ends: began }, ended)
      isOut = false
    },
  }
}
