import { Link, useSearch } from '@tanstack/react-router'
import type { ConsumerOperations } from '../../../src/api/operations.ts'
import { DeadLetterCauses } from '../dead-letters/causes.tsx'
import { EmptyCard } from '../parts/empty-card.tsx'
import { EmptyNote } from '../parts/notes.tsx'
import { WithAnswer } from '../parts/with-answer.tsx'
import { RunbookLink } from '../parts/with-links.tsx'
import { Partitions } from './partitions.tsx'
import { Sections } from './sections.tsx'
import { useConsumers } from './use-consumers.ts'

/** The partitions of one consumer: owner, checkpoint, lag, alarms. And its dead letters. */
export function Operations() {
  const { consumer: chosen } = useSearch({ from: '/operations' })
  const query = useConsumers()
  return (
    <>
      {query.data && <Sections />}
      <WithAnswer query={query} what="the consumers">
        {({ consumers }) => <Consumers consumers={consumers} chosen={chosen} />}
      </WithAnswer>
    </>
  )
}

interface ConsumersProps {
  readonly consumers: readonly ConsumerOperations[]
  readonly chosen: string | undefined
}

function Consumers({ consumers, chosen }: ConsumersProps) {
  const shown = consumers.find(({ service }) => service === chosen) ?? consumers[0]
  return (
    <>
      <nav aria-label="Consumers" className="tabs">
        {consumers.map((consumer) => (
          <Link
            key={consumer.service}
            to="/operations"
            search={{ consumer: consumer.service }}
            aria-current={consumer === shown ? 'page' : undefined}
          >
            {consumer.service} <Trouble consumer={consumer} />
          </Link>
        ))}
      </nav>
      {shown ? <Consumer consumer={shown} /> : <EmptyNote>The console knows no consumer.</EmptyNote>}
    </>
  )
}

/** How much of a consumer needs a look. */
function Trouble({ consumer: { answering, partitions, deadLetters } }: { readonly consumer: ConsumerOperations }) {
  if (answering === 0) return <span className="pill expired">no answer</span>
  const alarms = partitions.filter((partition) => partition.alarms.length > 0).length
  const letters = (deadLetters ?? []).reduce((sum, { dead }) => sum + dead, 0)
  if (alarms + letters === 0) return null
  return <span className="pill expired">{alarms + letters}</span>
}

function Consumer({ consumer }: { readonly consumer: ConsumerOperations }) {
  const { service, answering, processes, partitions, deadLetters } = consumer
  if (answering === 0) {
    return (
      <EmptyNote>
        No process of {service} answers{processes > 1 && <>, of {processes}</>}. Start it, or end the process that
        hangs, so that it is started again. Runbook: <RunbookLink name="lag" />
      </EmptyNote>
    )
  }
  return (
    <>
      <Partitions service={service} partitions={partitions} />
      {deadLetters === null ? (
        <EmptyCard title="Dead letters">
          {service} did not count its dead letters in time. This page asks again; the Overview shows how many there are.
        </EmptyCard>
      ) : (
        <DeadLetterCauses service={service} groups={deadLetters} />
      )}
    </>
  )
}
