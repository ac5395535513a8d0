/** The `reason` of a request that a gateway refuses for a limit. Over the cap on traits nothing is refused: new traits are dropped. */
export type LimitReason = 'eventLimit' | 'mau' | 'uniqueEvents'
