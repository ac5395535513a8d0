/** Thrown if the catalog topic is missing, or has more than one partition, so that its records have no order. */
export class CatalogTopicError extends Error {
  override readonly name = 'CatalogTopicError'
  readonly code = 'CATALOG_TOPIC_UNUSABLE'
  readonly retryable: boolean

  constructor(topic: string, partitions: number) {
    super(
      partitions === 0
        ? `There is no topic ${topic}; create the topics with \`nextvisit topics create\`.`
        : `Topic ${topic} has ${partitions} partitions and must have exactly one; its records would have no order.`,
    )
    this.retryable = partitions === 0
  }
}

/** Rejects a view's `start` if the log has a catalog, but no organization in it can be read. */
export class CatalogUnreadableError extends Error {
  override readonly name = 'CatalogUnreadableError'
  readonly code = 'CATALOG_UNREADABLE'
  readonly retryable = false

  /** `remedy`: `apply` if reading continues after the batch. */
  constructor(cause: Error, remedy: 'apply' | 'restore') {
    const first =
      remedy === 'apply'
        ? 'Apply the workspace file of every organization with `nextvisit apply`'
        : 'Restore the topic of the catalog'
    super(
      `There is no catalog to start with: ${cause.message}. ${first}, then start again: see docs/runbooks/halted.md.`,
      {
        cause,
      },
    )
  }
}

/** Rejects a view's `start` if the view is stopped before it has read the catalog. */
export class CatalogViewStoppedError extends Error {
  override readonly name = 'CatalogViewStoppedError'
  readonly code = 'CATALOG_VIEW_STOPPED'
  readonly retryable = false

  constructor() {
    super('The catalog view was stopped before it had read the catalog.')
  }
}
