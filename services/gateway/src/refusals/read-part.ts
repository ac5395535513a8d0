/** The parts that reads and commands ask. */
export type ReadPart =
  | 'answer collector'
  | 'form trigger evaluator'
  | 'list of refusals'
  | 'list of suppressions'
  | 'metering service'
  | 'trait registry'
  | 'user eraser'
  | 'user projector'
  | 'webhook dispatcher'
