import type { LogAdmin } from '@nextvisit/log'

/** Settings of the topic of keys that decide when destroyed keys leave its files. */
export interface KeySettings {
  /**
   * A segment is closed by the first record that is later than this after the segment's first one, ms. Consumers that open records
   * delay the destruction of keys by this time at most: the three steps after it take about 60 % of the retention.
   */
  readonly segmentMs: number
  /** Kafka deletes the files of compacted segments after this, ms. */
  readonly deleteFilesAfterMs: number
}

const READ_AGAIN_AFTER_MS = 60_000
const KAFKAS_DEFAULTS: KeySettings = { segmentMs: 604_800_000, deleteFilesAfterMs: 60_000 }

/** Returns a reader of the settings, which asks Kafka once a minute. It rejects with TopicMissingError. */
export function readKeySettings(logAdmin: Pick<LogAdmin, 'describeTopics'>, topic: string): () => Promise<KeySettings> {
  let known: { readonly settings: KeySettings; readonly atMs: number } | undefined

  return async () => {
    if (known && performance.now() - known.atMs < READ_AGAIN_AFTER_MS) return known.settings
    const [state] = await logAdmin.describeTopics([topic])
    const of = (setting: string, fallback: number) => Number(state?.config.get(setting) ?? fallback)
    const settings = {
      segmentMs: Math.min(
        of('segment.ms', KAFKAS_DEFAULTS.segmentMs),
        of('max.compaction.lag.ms', KAFKAS_DEFAULTS.segmentMs),
      ),
      deleteFilesAfterMs: of('file.delete.delay.ms', KAFKAS_DEFAULTS.deleteFilesAfterMs),
    }
    known = { settings, atMs: performance.now() }
    return settings
  }
}
