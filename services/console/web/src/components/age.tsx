import { useEffect, useState } from 'react'
import { seconds } from './figures.ts'

const TICK_MS = 1_000

interface AgeProps {
  /** Time of the figures, by the console's clock. */
  readonly of: string
  /** Time of the answer with them, by the console's clock. */
  readonly answeredAt: string
  /** Time of the answer, by the browser's clock: the clocks may differ. */
  readonly receivedAtMs: number
}

/** The age of figures, such as `12 s`. It grows while the console does not answer. */
export function Age({ of, answeredAt, receivedAtMs }: AgeProps) {
  const [nowMs, setNowMs] = useState(Date.now)
  useEffect(() => {
    const ticking = setInterval(() => setNowMs(Date.now()), TICK_MS)
    return () => clearInterval(ticking)
  }, [])
  const ageMs = Date.parse(answeredAt) - Date.parse(of) + Math.max(0, nowMs - receivedAtMs)
  return <span className="num">{seconds(Math.max(0, Math.round(ageMs / 1_000)))}</span>
}
