/** What the gateway needs of a logger (pino fits). Fields never hold a userName, a trait value, a key or a URL. */
export interface Logger {
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
  readonly error: (fields: object, message: string) => void
  readonly debug: (fields: object, message: string) => void
}
