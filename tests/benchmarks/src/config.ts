/** A reference server's configuration, set by its parent process. */
export function readReferenceConfig(env: Readonly<Record<string, string | undefined>> = process.env) {
  return {
    kind: env['REFERENCE_KIND'] === 'express' ? ('express' as const) : ('http' as const),
    brokers: (env['KAFKA_BROKERS'] ?? '').split(','),
    topic: env['REFERENCE_TOPIC'] ?? '',
    key: env['REFERENCE_KEY'] ?? '',
  }
}
