import { operationsCalls } from '@nextvisit/contracts'
import { createLocalClient } from '@nextvisit/service-kit'
import { expect, it } from 'vitest'
import { answerOperations } from './answer-operations.ts'

it('readOperations lists the partitions of the process, with their lag and alarms', async () => {
  const halted = { kind: 'halted', offset: 7n, code: 'FOLD_FAILED', message: 'a bug', sinceMs: 0 } as const
  const progress = {
    topic: 'user-events',
    partition: 3,
    nextOffset: 7n,
    lagRecords: 2n,
    lagSeconds: 1.5,
    stalledMs: 0,
    hangsMs: 0,
    ticksFailMs: 0,
    alarms: [halted],
  }
  const handlers = answerOperations({ progress: () => [progress], canSetAside: () => false })
  const asked = await createLocalClient(operationsCalls, handlers).readOperations({})
  expect(asked).toEqual({
    outcome: 'answered',
    answer: {
      partitions: [
        {
          topic: 'user-events',
          partition: 3,
          nextOffset: '7',
          lagRecords: 2,
          lagSeconds: 1.5,
          alarms: [
            {
              kind: 'halted',
              offset: '7',
              recordId: null,
              canSetAside: false,
              code: 'FOLD_FAILED',
              message: 'a bug',
              since: '1970-01-01T00:00:00.000Z',
            },
          ],
        },
      ],
    },
  })
})
