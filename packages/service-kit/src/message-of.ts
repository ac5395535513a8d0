/** Errors of the engine. Their messages may end with a value, as in `Invalid time zone specified: …`. */
const BUILT_IN = new Set(['TypeError', 'RangeError', 'ReferenceError', 'URIError', 'EvalError'])

/**
 * Returns an error's message for logs and operators, without values of callers.
 *
 * Our own errors (with `retryable`) and errors of Node's system calls name no values, so theirs pass. Others lose the places
 * where Postgres, zod and the engine quote values: quotation marks, parentheses, and numbers of the engine's errors. The
 * first mark begins what is hidden and the last one ends it, since a value may contain the same mark.
 */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  if (error instanceof SyntaxError) return 'Syntax error'
  if (isOurs(error) || 'syscall' in error) return error.message
  const text = BUILT_IN.has(error.name)
    ? error.message.replace(/(: |search for )[^]*/, '$1…').replaceAll(/\d+(?:\.\d+)?/g, '…')
    : error.message
  return text
    .replace(/"[^]*"/, '"…"')
    .replace(/(?<![\p{L}\d])'[^]*'/u, "'…'")
    .replace(/\([^]*\)/, '(…)')
}

function isOurs(error: Error): boolean {
  return 'retryable' in error && typeof error.retryable === 'boolean'
}
