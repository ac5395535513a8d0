interface Place {
  readonly projection: string
  readonly topic: string
  readonly partition: number
}

const nameOf = ({ projection, topic, partition }: Place): string => `${projection} on ${topic}/${partition}`

/** A batch begins behind the checkpoint: records between them were never seen. Somebody has to look. */
export class GapError extends Error {
  override readonly name = 'GapError'
  readonly code = 'GAP_IN_LOG'
  readonly retryable = false

  constructor(place: Place, nextOffset: bigint, fetchedFrom: bigint) {
    super(
      `${nameOf(place)}: a batch begins at ${fetchedFrom}, but ${nextOffset} was to come next. Nothing was folded; ` +
        `find out where the records between went before this partition goes on.`,
    )
  }
}

/** The checkpoint is not within the log: records were deleted before they were folded, or Kafka lost or restored a log. */
export class CheckpointOutsideLogError extends Error {
  override readonly name = 'CheckpointOutsideLogError'
  readonly code = 'CHECKPOINT_OUTSIDE_LOG'
  readonly retryable = false

  constructor(place: Place, nextOffset: bigint, log: { readonly low: bigint; readonly high: bigint }) {
    super(
      `${nameOf(place)}: the checkpoint is ${nextOffset}, but the log holds ${log.low} to ${log.high}. It is not reset in ` +
        `silence: restore the log or the database so that they fit, or rebuild the read models.`,
    )
  }
}

/** `evolve` or `save` threw: a bug. The partition stops; nothing of the batch was written. */
export class FoldFailedError extends Error {
  override readonly name = 'FoldFailedError'
  readonly code = 'FOLD_FAILED'
  readonly retryable = false

  constructor(place: Place, from: bigint, cause: unknown) {
    super(`${nameOf(place)}: folding the batch from offset ${from} failed. This is a bug; nothing of it was written.`, {
      cause,
    })
  }
}

/** The runner is stopping, so the batch under way was given up. It is folded by whoever owns the partition next. */
export class RunnerStoppedError extends Error {
  override readonly name = 'RunnerStoppedError'
  readonly code = 'RUNNER_STOPPED'
  readonly retryable = true

  constructor() {
    super('The projection runner is stopping.')
  }
}
