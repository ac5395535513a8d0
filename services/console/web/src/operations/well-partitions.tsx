import { useNavigate, useSearch } from '@tanstack/react-router'
import type { PartitionLine } from '../../../src/operations/api.ts'
import { figure, seconds } from '../parts/figures.ts'
import { Mark } from '../parts/mark.tsx'
import { Partitions } from './partitions.tsx'

export interface WellPartitionsProps {
  readonly service: string
  readonly partitions: readonly PartitionLine[]
  /** How many partitions there are. */
  readonly of: number
}

/** Partitions that nobody has to look at, in one line that opens. */
export function WellPartitions({ service, partitions, of }: WellPartitionsProps) {
  const { partitions: shown } = useSearch({ from: '/operations' })
  const navigate = useNavigate({ from: '/operations' })
  const isOpen = shown === 'all'
  const waiting = partitions.reduce((sum, { lagRecords }) => sum + (lagRecords ?? 0), 0)
  const behindSeconds = Math.max(...partitions.map(({ lagSeconds }) => lagSeconds ?? 0))
  return (
    <details
      className="folded"
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => {
        if (open !== isOpen)
          void navigate({ search: (now) => ({ ...now, partitions: open ? 'all' : undefined }), replace: true })
      }}
    >
      <summary className="card">
        <Mark kind="good" /> {partitions.length} of {of} partitions are well: records waiting {figure(waiting)}, at most{' '}
        {seconds(behindSeconds)} behind
      </summary>
      <Partitions title="Partitions of user-events" service={service} partitions={partitions} />
    </details>
  )
}
