import type { ChangeEnd, ChangeWriter, Recorded, WantedChange } from '@nextvisit/operator-changes'
import type { CheckedRequest } from '../http/route.ts'

interface RequestedChange extends Omit<WantedChange, 'organization' | 'project'> {
  /** Of a change that a repeat of the request requests again. */
  readonly changeId?: string
}

/** Makes the change of a request once it is in the log (`operator-changes`). The admin key is its author. */
export type RecordChange = <Result>(
  request: Pick<CheckedRequest, 'key' | 'project' | 'deadlineAt'>,
  wanted: RequestedChange,
  make: () => Promise<Result>,
  endOf: (result: Result) => ChangeEnd,
) => Promise<Recorded<Result>>

export function createRecordChange({ record }: ChangeWriter): RecordChange {
  return ({ key, project: { organization, project }, deadlineAt }, { changeId, ...wanted }, make, endOf) => {
    const actor = { kind: 'key', name: key.entry.name, isVerified: true } as const
    return record({ actor, changeId, deadlineAt }, [{ ...wanted, organization, project }], make, endOf)
  }
}
