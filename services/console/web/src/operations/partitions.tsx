import { useNavigate, useSearch } from '@tanstack/react-router'
import type { PartitionLine } from '../../../src/operations/api.ts'
import { isLate } from '../../../src/shared-with-pages.ts'
import { useIsOperator } from '../app/session.ts'
import { useChange } from '../app/api.ts'
import { ActionDialog } from '../components/action-dialog.tsx'
import { figure, seconds } from '../components/figures.ts'
import { Mark, type MarkKind } from '../components/mark.tsx'
import { right, TableCard } from '../components/table-card.tsx'
import { Time } from '../components/time.tsx'
import { RunbookLink } from '../components/with-links.tsx'
import { haltOf, setAsideScopeOf } from './set-aside-scope.ts'
import { useConsumers } from './use-consumers.ts'

interface PartitionsProps {
  readonly title: string
  readonly service: string
  readonly partitions: readonly PartitionLine[]
}

/** Partitions with their owners, including partitions without one. */
export function Partitions({ title, service, partitions }: PartitionsProps) {
  return (
    <TableCard
      title={title}
      columns={[right('Partition'), 'State', 'Owner', right('Checkpoint'), right('Records waiting'), right('Lag')]}
    >
      {partitions.map((line) => (
        <tr key={line.partition}>
          <th scope="row" className="right num">
            {line.partition}
          </th>
          <td>
            <State line={line} />
            <SetAside service={service} line={line} />
          </td>
          <td className="num">{line.owner ?? 'none'}</td>
          <td className="right num">{line.checkpoint ?? '–'}</td>
          <td className="right num">{figure(line.lagRecords)}</td>
          <td className="right num">{seconds(line.lagSeconds)}</td>
        </tr>
      ))}
    </TableCard>
  )
}

interface HealthyPartitionsProps {
  readonly service: string
  readonly topic: string
  readonly partitions: readonly PartitionLine[]
  readonly partitionCount: number
}

/** Partitions that need no attention, in one line that opens. */
export function HealthyPartitions({ service, topic, partitions, partitionCount }: HealthyPartitionsProps) {
  const { partitions: shown } = useSearch({ from: '/operations' })
  const navigate = useNavigate({ from: '/operations' })
  const isOpen = shown === 'all'
  const waiting = partitions.reduce((sum, { lagRecords }) => sum + (lagRecords ?? 0), 0)
  const lagSeconds = Math.max(...partitions.map((line) => line.lagSeconds ?? 0))
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
        <Mark kind="good" /> {partitions.length} of {partitionCount} partitions are healthy: {figure(waiting)} records
        waiting, maximum lag {seconds(lagSeconds)}
      </summary>
      <Partitions title={`Partitions of ${topic}`} service={service} partitions={partitions} />
    </details>
  )
}

function State({ line }: { readonly line: PartitionLine }) {
  const { kind, label } = stateOf(line)
  return (
    <>
      <Mark kind={kind} label={kind === 'good' ? 'good' : 'needs attention'} /> {label}
      {line.alarms.map(({ kind: alarm, offset, recordId, code, message, since }) => (
        <p key={alarm} className="quiet">
          {alarm} at offset {offset} since <Time at={since} />: <code>{code}</code> {message}
          {recordId && code !== 'BATCH_UNDECODABLE' && <> (record {recordId})</>}. Runbook:{' '}
          <RunbookLink name={alarm === 'halted' ? 'halted' : 'lag'} />
        </p>
      ))}
    </>
  )
}

/** Returns true if a partition needs no attention. */
export function isHealthy(line: PartitionLine): boolean {
  return stateOf(line).kind === 'good'
}

function stateOf({ owner, alarms, lagSeconds }: PartitionLine): { readonly kind: MarkKind; readonly label: string } {
  const [alarm] = alarms
  if (alarm) return { kind: alarm.kind === 'ticks' ? 'warning' : 'critical', label: alarm.kind }
  if (owner === null) return { kind: 'warning', label: 'no owner' }
  return isLate(lagSeconds) ? { kind: 'warning', label: 'lagging' } : { kind: 'good', label: 'follows' }
}

/** Button of operators that makes the record, or the batch, that halts a partition a dead letter, in each consumer that it halts. */
function SetAside({ service, line }: { readonly service: string; readonly line: PartitionLine }) {
  const isOperator = useIsOperator()
  const consumers = useConsumers().data?.consumers ?? []
  const setAside = useChange('setRecordAside', 'listConsumers')
  const halt = haltOf(line)
  if (!halt || !isOperator) return null
  const { partition } = line
  const { offset, canSetAside, code } = halt
  const what = code === 'BATCH_UNDECODABLE' ? 'batch' : 'record'
  const { services, behind } = setAsideScopeOf(consumers, { service, partition, offset })
  if (setAside.isSuccess && setAside.variables.offset === offset)
    return (
      <output>
        Setting the {what} at offset {offset} aside. The partition continues within seconds.
        {setAside.data.failed.map((one) => (
          <p key={one.service}>
            Not in {one.service}: {one.message} Set it aside there later.
          </p>
        ))}
        <Behind what={what} behind={behind} />
      </output>
    )
  if (!canSetAside)
    return (
      <p className="quiet">
        You can set the {what} aside within seconds, when {service} has stored the alarm.
      </p>
    )
  const names = services.join(', ')
  return (
    <ActionDialog
      label={`Set aside the ${what} at offset ${offset}${services.length > 1 ? ' in every consumer' : ''}`}
      action="Set it aside"
      onConfirm={() => setAside.mutateAsync({ services: [...services], partition, offset })}
    >
      {what === 'batch' ? (
        <p>
          The records of the batch are lost to {names}. A dead letter without content describes the batch, and partition{' '}
          {partition} continues after it.
        </p>
      ) : (
        <>
          <p>
            The record becomes a dead letter of {names}, and partition {partition} continues with the next record. When
            the cause is fixed, retry the dead letter, which folds it late.
          </p>
          <p>If you can deploy a fixed version soon, do that instead: the partition then continues with this record.</p>
        </>
      )}
      <Behind what={what} behind={behind} />
    </ActionDialog>
  )
}

/** Consumers that may halt at the record or batch later, where it must then be set aside again. */
function Behind({
  what,
  behind,
}: {
  readonly what: string
  readonly behind: ReturnType<typeof setAsideScopeOf>['behind']
}) {
  if (behind.length === 0) return null
  const places = behind.map(({ service, checkpoint }) =>
    checkpoint === null ? `${service} (no owner)` : `${service} (at offset ${checkpoint})`,
  )
  return (
    <p>
      Not past the {what} yet: {places.join(', ')}. If the {what} halts {behind.length === 1 ? 'it' : 'them'}, set it
      aside there, too.
    </p>
  )
}
