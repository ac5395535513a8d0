/** Reads the configuration of a reference server, set by its parent process. */
export function readReferenceConfig(env: Readonly<Record<string, string | undefined>> = process.env) {
  return {
    kind: env['REFERENCE_KIND'] === 'usual' ? ('usual' as const) : ('limit' as const),
    brokers: (env['KAFKA_BROKERS'] ?? '').split(','),
    topic: env['REFERENCE_TOPIC'] ?? '',
    key: env['REFERENCE_KEY'] ?? '',
  }
}
