import type { PartitionLine } from '../../../src/operations/api.ts'
import { useIsOperator } from '../app/session.ts'
import { useChange } from '../app/use-api.ts'
import { ActionDialog } from '../parts/action-dialog.tsx'

/** For an operator, where the fold of one record halts a partition: the record becomes a dead letter. */
export function SetAside({ service, line }: { readonly service: string; readonly line: PartitionLine }) {
  const isOperator = useIsOperator()
  const setAside = useChange('setRecordAside', 'listConsumers')
  const halt = line.alarms.find(({ kind, recordId }) => kind === 'halted' && recordId !== null)
  if (!halt || !isOperator) return null
  const { partition } = line
  const { offset, canSetAside } = halt
  if (setAside.isSuccess && setAside.variables.offset === offset)
    return <output>The record at offset {offset} is being set aside. The partition continues within seconds.</output>
  if (!canSetAside)
    return (
      <p className="quiet">The record can be set aside once {service} has written this halt down: within seconds.</p>
    )
  return (
    <ActionDialog
      label={`Set aside the record at offset ${offset}`}
      action="Set it aside"
      onConfirm={() => setAside.mutateAsync({ service, partition, offset })}
    >
      <p>
        One record becomes a dead letter of {service}, and partition {partition} continues behind it. Once {service} is
        mended, retry the dead letter: it is folded late.
      </p>
      <p>If a mended version can be deployed soon, do that instead: the partition then continues with the record.</p>
    </ActionDialog>
  )
}
