import { Link, useSearch } from '@tanstack/react-router'
import type { ConsumerOperations } from '../../../src/operations/api.ts'
import { DeadLetterCauses } from '../dead-letters/dead-letter-causes.tsx'
import { Mark } from '../components/mark.tsx'
import { EmptyCard, EmptyNote } from '../components/notes.tsx'
import { WithAnswer } from '../components/with-answer.tsx'
import { RunbookLink } from '../components/with-links.tsx'
import { isHealthy, Partitions, HealthyPartitions } from './partitions.tsx'
import { Sections } from './sections.tsx'
import { useConsumers } from './use-consumers.ts'

/** The partitions of a consumer with owner, checkpoint, lag and alarms, and its dead letters. */
export function Operations() {
  const { consumer: chosen } = useSearch({ from: '/operations' })
  const query = useConsumers()
  return (
    <>
      {query.data && <Sections />}
      <WithAnswer query={query} name="the consumers">
        {({ consumers }) => <Consumers consumers={consumers} chosen={chosen} />}
      </WithAnswer>
    </>
  )
}

function Consumers({
  consumers,
  chosen,
}: {
  readonly consumers: readonly ConsumerOperations[]
  readonly chosen: string | undefined
}) {
  const shown = consumers.find(({ service }) => service === chosen) ?? consumers[0]
  return (
    <>
      <nav aria-label="Consumers" className="tabs">
        {consumers.map((consumer) => (
          <Link
            key={consumer.service}
            to="/operations"
            search={(now) => ({ ...now, consumer: consumer.service })}
            aria-current={consumer === shown ? 'page' : undefined}
          >
            {consumer.service} <Trouble consumer={consumer} />
          </Link>
        ))}
      </nav>
      {shown ? <Consumer consumer={shown} /> : <EmptyNote>No consumer is configured.</EmptyNote>}
    </>
  )
}

/** Number of alarms and dead letters of a consumer. */
function Trouble({
  consumer: { silent, processes, partitions, deadLetters },
}: {
  readonly consumer: ConsumerOperations
}) {
  if (silent.length === processes) return <span className="pill expired">no answer</span>
  const alarms = partitions.filter((partition) => partition.alarms.length > 0).length
  const letters = (deadLetters ?? []).reduce((sum, { dead }) => sum + dead, 0)
  if (alarms + letters === 0) return null
  return <span className="pill expired">{alarms + letters}</span>
}

/** A consumer. Problems come first. */
function Consumer({ consumer }: { readonly consumer: ConsumerOperations }) {
  const { service, topic, silent, processes, partitions, deadLetters } = consumer
  const healthy = partitions.filter(isHealthy)
  return (
    <>
      {silent.length > 0 && <Silent service={service} silent={silent} processes={processes} />}
      {silent.length < processes && (
        <>
          {healthy.length < partitions.length && (
            <Partitions
              title="Partitions that need attention"
              service={service}
              partitions={partitions.filter((line) => !isHealthy(line))}
            />
          )}
          {deadLetters === null ? (
            <EmptyCard title="Dead letters">
              {service} did not count its dead letters in time. This page retries; the Overview shows the total.
            </EmptyCard>
          ) : (
            <DeadLetterCauses service={service} groups={deadLetters} />
          )}
          {healthy.length > 0 && (
            <HealthyPartitions
              service={service}
              topic={topic}
              partitions={healthy}
              partitionCount={partitions.length}
            />
          )}
        </>
      )}
    </>
  )
}

interface SilentProps extends Pick<ConsumerOperations, 'service' | 'silent' | 'processes'> {}

function Silent({ service, silent, processes }: SilentProps) {
  const isAll = silent.length === processes
  return (
    <section className={`findings ${isAll ? 'critical' : 'warning'}`} aria-label="No answer">
      <p>
        <Mark kind={isAll ? 'critical' : 'warning'} />
        <span>
          {isAll
            ? `${service} does not answer`
            : `${silent.length} of ${processes} processes of ${service} do not answer`}
          : {silent.join(', ')}. Start stopped processes, and kill hanging ones so that they restart. Runbook:{' '}
          <RunbookLink name="lag" />
        </span>
      </p>
    </section>
  )
}
